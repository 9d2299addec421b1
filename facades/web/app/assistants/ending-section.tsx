import { useNavigate } from '@tanstack/react-router'
import type { StoredAssistant } from '../shared/assistants/content.ts'
import { refreshAssistants } from '../shared/models/assistants.ts'
import { t } from '../shared/text/labels.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { ConfirmButton } from '../shared/ui/confirm-button.tsx'
import { Section } from '../shared/ui/section.tsx'
import styles from './editor-page.module.css'
import { buildDeletion, buildLeaving } from './endings.ts'

/** Deletes an assistant, or ends the right to change that of somebody else. */
export function EndingSection({ stored }: { stored: StoredAssistant }) {
  const navigate = useNavigate()
  const { outcome, isWrong, run } = useAction()
  const ending = stored.isOwner ? buildDeletion(stored) : buildLeaving(stored)
  const end = () =>
    void run(async () => {
      await ending.act()
      // This page would read again an assistant that it may not show anymore.
      await navigate({ to: '/assistants' })
      await refreshAssistants()
      return undefined
    })
  return (
    <Section title={ending.action} className={styles.section}>
      <p className="hint">{ending.text}</p>
      <p>
        <ConfirmButton kind="danger" confirmation={ending} act={end}>
          {t(stored.isOwner ? 'app.assistants.deleteThis' : 'app.assistants.leave')}
        </ConfirmButton>
      </p>
      <Outcome outcome={outcome} isWrong={isWrong} />
    </Section>
  )
}
