import { type ReactNode, useEffect, useRef } from 'react'
import styles from './section-links.module.css'

interface SectionLinksProps {
  /** `adaptive` is a column where there is room for one, and else a row that scrolls. */
  layout: 'column' | 'adaptive'
  /** The address of the current section, which the row scrolls to. */
  current?: string
  children: ReactNode
}

/** Links to the sections of an area, of which the current one is marked. */
export function SectionLinks({ layout, current, children }: SectionLinksProps) {
  const links = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (current !== undefined)
      links.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [current])
  return (
    <div ref={links} className={styles[layout]}>
      {children}
    </div>
  )
}
