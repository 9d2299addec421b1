import styles from './skeleton.module.css'

/** Stands in place of something that is being read. */
export const Skeleton = ({ height = 'high' }: { height?: 'low' | 'high' }) => (
  <div className={styles[height]} aria-busy="true" />
)
