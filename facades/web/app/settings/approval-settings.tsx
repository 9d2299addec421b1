import { useRef } from 'react'
import { ToolQuestionList } from '../shared/notices/tool-question-list.tsx'
import { t } from '../shared/text/labels.ts'
import { SettingsSection } from './settings-section.tsx'

/** Calls of tools that the person's programs may make only if the person allows them. */
export function ApprovalSettings() {
  const titleRef = useRef<HTMLHeadingElement>(null)
  return (
    <SettingsSection title={t('app.settings.questionsTitle')} titleRef={titleRef}>
      <ToolQuestionList onAnswered={() => titleRef.current?.focus()} />
    </SettingsSection>
  )
}
