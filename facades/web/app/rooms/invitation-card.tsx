import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { useSession } from '../shared/session.tsx'
import { t, timeText } from '../shared/text/labels.ts'
import { acceptInvitation } from './invitations.ts'
import { type Member, roleLabels } from './room.ts'
import { endMembership } from './rooms.ts'

/** An invitation of the person: to which room, by whom, as what; to accept or to decline. */
export function InvitationCard({ invitation, onChoose }: { invitation: Member; onChoose: () => void }) {
  const session = useSession()
  const navigate = useNavigate()
  const [error, setError] = useState<unknown>()
  const { id, roomName = '', inviterName = '', role, expiresAt } = invitation
  const accept = async () => {
    const slug = await acceptInvitation(session, id)
    onChoose()
    await navigate({ to: '/rooms/$slug', params: { slug } })
  }
  return (
    <li className="invitation">
      <strong dir="auto">{roomName}</strong>
      <span className="hint">
        {t('app.invitations.from', { name: inviterName, role: t(roleLabels[role]) })}
        {expiresAt !== undefined && ` ${t('app.invitations.until', { at: timeText(new Date(expiresAt)) })}`}
      </span>
      {error !== undefined && (
        <p className="wrong" role="alert">
          {errorText(error)}
        </p>
      )}
      <span className="actions">
        <button type="button" className="quiet-button" onClick={() => void endMembership(invitation).catch(setError)}>
          {t('app.invitations.decline')}
        </button>
        <button type="button" className="button" onClick={() => void accept().catch(setError)}>
          {t('app.invitations.accept')}
        </button>
      </span>
    </li>
  )
}
