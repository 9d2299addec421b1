import styles from './icon.module.css'

const paths = {
  archive: 'M3 5h18v4H3zM5 9v11h14V9M10 13h4',
  arrowDown: 'M12 5v14m-6-6 6 6 6-6',
  arrowUp: 'M12 19V5m-6 6 6-6 6 6',
  assistant: 'M12 3v4M5 7h14v11H5zM9 11v3m6-3v3M2 11v4m20-4v4M9 21h6',
  attach: 'M8 12.5 14.5 6a3 3 0 0 1 4.3 4.3L10 19a5 5 0 0 1-7-7l8-8',
  bell: 'M18 16v-5a6 6 0 0 0-12 0v5l-2 2h16zM10 21h4',
  branch: 'M9 6 4 12l5 6m6-12 5 6-5 6',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  chevron: 'm6 9 6 6 6-6',
  close: 'm6 6 12 12M18 6 6 18',
  compare: 'M3 5h8v14H3zM13 5h8v14h-8z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11m-5-5 5 5 5-5M4 15v5h16v-5',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  eye: 'M2 12c2.5-4.5 6-7 10-7s7.5 2.5 10 7c-2.5 4.5-6 7-10 7s-7.5-2.5-10-7zM12 9a3 3 0 1 1 0 6 3 3 0 0 1 0-6',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  folder: 'M3 6h7l2 2h9v11H3z',
  hide: 'M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6M12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5M5 20 19 4',
  import: 'M12 15V4m-5 5 5-5 5 5M4 15v5h16v-5',
  key: 'M8 11a4 4 0 1 1 0 8 4 4 0 0 1 0-8m3 1 8-8m-4 4 3 3',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8',
  later: 'M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18M12 7v5l3 2',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1m2 4a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  menu: 'M4 7h16M4 12h16M4 17h16',
  lock: 'M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3',
  more: 'M4.5 12a.5.5 0 1 0 1 0 .5.5 0 0 0-1 0m7 0a.5.5 0 1 0 1 0 .5.5 0 0 0-1 0m7 0a.5.5 0 1 0 1 0 .5.5 0 0 0-1 0',
  mute: 'M18 16V11a6 6 0 0 0-9.5-4.9M6 9v7l-2 2h13M10 20h4M4 4l16 16',
  next: 'm9 6 6 6-6 6',
  options: 'M4 7h10m4 0h2M4 17h2m4 0h10M16 5v4M8 15v4',
  people:
    'M9 5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7M3 20c0-4 2.5-6 6-6s6 2 6 6M16 5.5a3 3 0 0 1 0 6M17 14c2.6.4 4 2.3 4 5.5',
  pin: 'M9 4h6l-1 7 4 3v2H6v-2l4-3zM12 16v5',
  plus: 'M12 5v14M5 12h14',
  previous: 'm15 6-6 6 6 6',
  quote: 'M5 6h14M5 12h14M5 18h8M2 4v16',
  repeat: 'M4 12a8 8 0 0 1 14-5.3L20 9M20 4v5h-5M20 12a8 8 0 0 1-14 5.3L4 15M4 20v-5h5',
  reply: 'M10 6 4 12l6 6M4 12h9a7 7 0 0 1 7 7',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14m5 12 5 5',
  settings:
    'm10.1 5.3.3-2.7h3.2l.3 2.7 1.6.6 2-1.7 2.3 2.3-1.7 2 .6 1.6 2.7.3v3.2l-2.7.3-.6 1.6 1.7 2-2.3 2.3-2-1.7-1.6.6-.3 2.7h-3.2l-.3-2.7-1.6-.6-2 1.7-2.3-2.3 1.7-2-.6-1.6-2.7-.3v-3.2l2.7-.3.6-1.6-1.7-2 2.3-2.3 2 1.7zM12 9a3 3 0 1 1 0 6 3 3 0 0 1 0-6',
  signOut: 'M10 4H4v16h6M9 12h11m-4-4 4 4-4 4',
  show: 'M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6M12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5',
  smile: 'M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18M8.5 14.5a4.5 4.5 0 0 0 7 0M9 9.5h.01M15 9.5h.01',
  sparkle: 'M12 3v5m0 8v5M3 12h5m8 0h5M6 6l2.5 2.5m7 7L18 18M18 6l-2.5 2.5m-7 7L6 18',
  speak: 'M4 9v6h4l5 4V5L8 9zM16.5 8.5a5 5 0 0 1 0 7M19 6a9 9 0 0 1 0 12',
  star: 'm12 4 2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.8-5 2.8 1.1-5.5L4 9.7 9.6 9z',
  stop: 'M7 7h10v10H7z',
  undo: 'M4 9h10a5 5 0 0 1 0 10h-4M4 9l4-4M4 9l4 4',
  temporary: 'M12 21a9 9 0 1 1 9-9M12 7v5l3 2M21 16v.01M18 19.5v.01M15 21v.01',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  unread: 'M13 6H4v12h16v-7M4 7l8 6 3-2.2M19 4.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3',
} as const

export type IconName = keyof typeof paths

/** A decorative icon beside a label or in a labelled button. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg className={styles.icon} viewBox="0 0 24 24" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)
