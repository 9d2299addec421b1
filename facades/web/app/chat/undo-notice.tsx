import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { useListAction } from './conversation-row.tsx'
import { type Removal, undoRemoval, useLastRemoval } from './removals.ts'
import styles from './undo-notice.module.css'

const labels = {
  deleted: { one: 'app.conversations.deleted', many: 'app.conversations.deletedMany' },
  archived: { one: 'app.archive.entered', many: 'app.archive.enteredMany' },
} as const

function describeRemoval({ kind, slugs, name }: Removal): string {
  return name === undefined ? t(labels[kind].many, { count: slugs.length }) : t(labels[kind].one, { name })
}

/** Offers to undo what was just deleted or archived. */
export function UndoNotice() {
  const removal = useLastRemoval()
  const run = useListAction()
  return (
    <div role="status">
      {removal && (
        <p className={styles.notice}>
          <span>{describeRemoval(removal)}</span>
          <Button kind="plain" onClick={() => run(undoRemoval(removal))}>
            {t('app.undo')}
          </Button>
        </p>
      )}
    </div>
  )
}
