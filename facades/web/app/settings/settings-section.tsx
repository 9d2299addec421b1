import type { ReactNode, RefObject } from 'react'
import { Section } from '../shared/ui/section.tsx'
import styles from './settings-section.module.css'

interface SettingsSectionProps {
  title: string
  /** Receives the focus when the focused element is removed. */
  titleRef?: RefObject<HTMLHeadingElement | null>
  children: ReactNode
}

/** A titled section of the settings. */
export const SettingsSection = (props: SettingsSectionProps) => <Section {...props} className={styles.section} />
