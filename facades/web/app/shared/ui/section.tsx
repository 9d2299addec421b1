import { type ReactNode, type RefObject, useId } from 'react'
import { joinClasses } from './class-names.ts'
import styles from './section.module.css'

interface SectionProps {
  title: string
  /** Receives the focus when the focused element is removed. */
  titleRef?: RefObject<HTMLHeadingElement | null> | undefined
  className?: string | undefined
  children: ReactNode
}

/** A titled section of a page. A line divides it from the section before it. */
export function Section({ title, titleRef, className, children }: SectionProps) {
  const id = useId()
  return (
    <section aria-labelledby={id} className={joinClasses(styles.section, className)}>
      <h2 id={id} tabIndex={titleRef && -1} ref={titleRef}>
        {title}
      </h2>
      {children}
    </section>
  )
}
