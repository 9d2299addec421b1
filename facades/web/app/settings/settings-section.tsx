import { type ReactNode, type RefObject, useId } from 'react'

interface SettingsSectionProps {
  title: string
  /** Takes the focus when what had it is gone. */
  titleRef?: RefObject<HTMLHeadingElement | null>
  children: ReactNode
}

/** A titled part of a page of settings. */
export function SettingsSection({ title, titleRef, children }: SettingsSectionProps) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="settings-section">
      <h2 id={id} tabIndex={-1} ref={titleRef}>
        {title}
      </h2>
      {children}
    </section>
  )
}
