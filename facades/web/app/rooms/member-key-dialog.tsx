import { useQuery } from '@tanstack/react-query'
import { fingerprint } from '../../browser/crypto.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { doubtLabels } from './key-notice.tsx'
import { getKeyring } from './keyring.ts'
import styles from './member-key-dialog.module.css'
import { QrCode } from './qr-code.tsx'
import { useRoom, useRoomView } from './room-context.ts'

interface MemberKeyDialogProps {
  /** The id of the person. */
  user: string
  name: string
  close: () => void
}

/** Shows the fingerprint of a member's public key, which two people compare, and accepts the key. */
export function MemberKeyDialog({ user, name, close }: MemberKeyDialogProps) {
  const { session, store } = useRoom()
  const room = useRoomView((view) => view.room)
  const { data, error } = useQuery({
    queryKey: ['member-key', room?.id, user],
    enabled: room !== undefined,
    staleTime: 0,
    gcTime: 0,
    queryFn: async () => {
      const checked = room ? await getKeyring(session).checkMembers(room) : []
      const found = checked.find(({ id }) => id === user)
      return found ? { ...found, fingerprint: await fingerprint(found.publicKey) } : null
    },
  })
  const isAcceptable = data !== null && data !== undefined && !data.isOwn
  const accept = async () => {
    if (!data) return
    await getKeyring(session).acceptKey(data)
    await store.refreshKeys()
  }
  return (
    <FormDialog
      title={t('app.keys.of', { name })}
      close={close}
      {...(isAcceptable && { save: accept, action: t('app.keys.accept') })}
    >
      <ErrorMessage error={error} />
      {data === undefined && !error && <p className="hint">{t('page.working')}</p>}
      {data === null && <p>{t('app.keys.none', { name })}</p>}
      {data && (
        <>
          {data.state !== 'trusted' && <Notice kind="warning">{t(doubtLabels[data.state], { names: name })}</Notice>}
          <p>{t(data.isOwn ? 'app.keys.compareOwn' : 'app.keys.compare', { name })}</p>
          <p className={styles.fingerprint}>{data.fingerprint}</p>
          <QrCode text={data.fingerprint} label={t('app.keys.qrCode', { name })} />
        </>
      )}
    </FormDialog>
  )
}
