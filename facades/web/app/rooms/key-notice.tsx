import { getRelatedId } from '../shared/api/related.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import styles from './key-notice.module.css'
import type { CheckedKey } from './keyring.ts'
import { useRoomView } from './room-context.ts'
import { getMemberName } from './room-members.ts'

/** The labels of the states in which a public key is not trusted. */
export const doubtLabels = { changed: 'app.keys.changed', unknown: 'app.keys.unknown' } as const

const states = ['changed', 'unknown'] as const

/** Names the members whose public keys this browser does not trust, and leads to their fingerprints. */
export function KeyNotice({ showMembers }: { showMembers: () => void }) {
  const untrustedKeys = useRoomView((view) => view.untrustedKeys)
  if (untrustedKeys.length === 0) return null
  return (
    <Notice kind="warning" className={styles.keys} role="alert">
      {states.map((state) => (
        <NamedKeys key={state} state={state} keys={untrustedKeys.filter((each) => each.state === state)} />
      ))}
      <Button kind="plain" onClick={showMembers}>
        {t('app.keys.show')}
      </Button>
    </Notice>
  )
}

function NamedKeys({ state, keys }: { state: (typeof states)[number]; keys: readonly CheckedKey[] }) {
  const members = useRoomView((view) => view.members)
  if (keys.length === 0) return null
  const ids = new Set(keys.map(({ id }) => id))
  const names = [...members.values()].filter((member) => ids.has(getRelatedId(member, 'user') ?? '')).map(getMemberName)
  return <p>{t(doubtLabels[state], { names: names.join(', ') })}</p>
}
