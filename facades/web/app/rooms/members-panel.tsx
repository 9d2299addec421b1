import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { api } from '../shared/api/client.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Button } from '../shared/ui/button.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { forgetPendingPerson, listPendingPeople } from './invitations.ts'
import styles from './members-panel.module.css'
import { PeopleList, PersonName } from './people-list.tsx'
import { type Member, type Role, roleLabels, roles } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { getMemberName, getPicture, listInvitations, listPeople } from './room-members.ts'
import { endMembership } from './rooms.ts'
import { PanelBody, SidePanel } from './side-panel.tsx'

const InviteDialog = lazy(async () => ({ default: (await import('./invite-dialog.tsx')).InviteDialog }))
const MemberKeyDialog = lazy(async () => ({ default: (await import('./member-key-dialog.tsx')).MemberKeyDialog }))

interface MembersPanelProps {
  present: ReadonlySet<string> | undefined
  close: () => void
}

/** The members and invitations of a room, with their roles. */
export function MembersPanel({ present, close }: MembersPanelProps) {
  const { session } = useRoom()
  const room = useRoomView((view) => view.room)
  const members = useRoomView((view) => view.members)
  const ownMember = useRoomView((view) => view.ownMember)
  const [isInviting, setInviting] = useState(false)
  const [, setForgotten] = useState(0)
  const navigate = useNavigate()
  const [people, invited] = [listPeople(members), listInvitations(members)]
  const isAdmin = room?.role === 'admin'
  const waiting = room && isAdmin ? listPendingPeople(session, room.id) : []
  return (
    <SidePanel title={t('app.rooms.members')} close={close}>
      <PanelBody>
        {isAdmin && (
          <p>
            <Button onClick={() => setInviting(true)}>
              <Icon name="plus" /> {t('app.rooms.invite')}
            </Button>
          </p>
        )}
        <PeopleList label={t('app.rooms.members')}>
          {people.map((member) => (
            <MemberRow
              key={member.id}
              member={member}
              isPresent={present?.has(getRelatedId(member, 'user') ?? '') ?? false}
              isOwn={member.id === ownMember?.id}
              onLeave={() => void navigate({ to: '/rooms' })}
            />
          ))}
        </PeopleList>
        {invited.length + waiting.length > 0 && (
          <>
            <h3 className={styles.invited}>{t('app.rooms.invited')}</h3>
            <PeopleList label={t('app.rooms.invited')}>
              {invited.map((invitation) => (
                <InvitationRow key={invitation.id} invitation={invitation} />
              ))}
              {waiting.map(({ username }) => (
                <li key={username}>
                  <PersonName name={username}>
                    <span className="hint">{t('app.rooms.withoutKeys')}</span>
                  </PersonName>
                  <IconButton
                    icon="close"
                    label={t('app.rooms.withdraw', { name: username })}
                    onClick={() => {
                      forgetPendingPerson(session, room?.id ?? '', username)
                      setForgotten((count) => count + 1)
                    }}
                  />
                </li>
              ))}
            </PeopleList>
          </>
        )}
      </PanelBody>
      {isInviting && (
        <Suspense>
          <InviteDialog close={() => setInviting(false)} />
        </Suspense>
      )}
    </SidePanel>
  )
}

interface MemberRowProps {
  member: Member
  isPresent: boolean
  isOwn: boolean
  onLeave: () => void
}

function MemberRow({ member, isPresent, isOwn, onLeave }: MemberRowProps) {
  const isAdmin = useRoomView(({ room }) => room?.role === 'admin')
  const [isConfirming, setConfirming] = useState(false)
  const isChangeable = isAdmin && !isOwn
  const name = getMemberName(member)
  const end = async () => {
    await endMembership(member)
    if (isOwn) onLeave()
  }
  return (
    <li>
      <span className={styles.portrait}>
        <Avatar name={name} picture={getPicture(member)} />
        {isPresent && <span className={styles.presence} />}
      </span>
      <PersonName
        name={
          <>
            {name}
            {isPresent && <span className="off-screen">{t('app.rooms.isHere')}</span>}
          </>
        }
      >
        <span className={styles.role}>
          <span className="hint">
            {isOwn ? t('app.rooms.you') : `@${member.username}`}
            {!isChangeable && ` · ${t(roleLabels[member.role])}`}
          </span>
          {isChangeable && <RoleField member={member} />}
        </span>
        <UntrustedHint member={member} />
      </PersonName>
      <KeyButton member={member} />
      {isOwn && (
        <Button kind="plain" onClick={() => setConfirming(true)}>
          {t('app.rooms.leave')}
        </Button>
      )}
      {isChangeable && (
        <IconButton icon="close" label={t('app.rooms.remove', { name })} onClick={() => setConfirming(true)} />
      )}
      {isConfirming && (
        <EndMembershipDialog name={isOwn ? undefined : name} end={end} close={() => setConfirming(false)} />
      )}
    </li>
  )
}

function UntrustedHint({ member }: { member: Member }) {
  const user = getRelatedId(member, 'user')
  const isUntrusted = useRoomView(({ untrustedKeys }) => untrustedKeys.some(({ id }) => id === user))
  return isUntrusted ? <span className="error">{t('app.keys.untrusted')}</span> : null
}

/** Opens the dialog with the fingerprint of a member's public key. */
function KeyButton({ member }: { member: Member }) {
  const [isOpen, setOpen] = useState(false)
  const user = getRelatedId(member, 'user')
  const name = getMemberName(member)
  return (
    <>
      <IconButton icon="key" label={t('app.keys.of', { name })} onClick={() => setOpen(true)} />
      {isOpen && user !== null && (
        <Suspense>
          <MemberKeyDialog user={user} name={name} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

/** Changes the role of a member. */
function RoleField({ member }: { member: Member }) {
  const [error, setError] = useState<unknown>()
  const change = (role: Role) => api.roomMembers.update.mutate({ id: member.id, role }).catch(setError)
  return (
    <>
      <InlineError error={error} />
      <select
        aria-label={t('app.rooms.roleOf', { name: getMemberName(member) })}
        value={member.role}
        onChange={({ target }) => void change(target.value as Role)}
      >
        {roles.map((role) => (
          <option key={role} value={role}>
            {t(roleLabels[role])}
          </option>
        ))}
      </select>
    </>
  )
}

interface EndMembershipDialogProps {
  /** The name of the member to remove; undefined if the person leaves. */
  name: string | undefined
  end: () => Promise<void>
  close: () => void
}

/** Explains the consequences before a membership ends. */
function EndMembershipDialog({ name, end, close }: EndMembershipDialogProps) {
  const isLeaving = name === undefined
  return (
    <FormDialog
      title={isLeaving ? t('app.rooms.leave') : t('app.rooms.remove', { name })}
      action={t(isLeaving ? 'app.rooms.leave' : 'app.rooms.removeShort')}
      isDangerous
      save={end}
      close={close}
    >
      <p>{isLeaving ? t('app.rooms.leaveText') : t('app.rooms.removeText', { name })}</p>
    </FormDialog>
  )
}

function InvitationRow({ invitation }: { invitation: Member }) {
  const [error, setError] = useState<unknown>()
  const name = invitation.displayName ?? t('app.rooms.byLink')
  const { expiresAt, role } = invitation
  return (
    <li>
      <PersonName name={name}>
        <span className="hint">
          {t(roleLabels[role])}
          {expiresAt !== undefined && ` · ${t('app.invitations.until', { at: formatTimestamp(new Date(expiresAt)) })}`}
        </span>
        <InlineError error={error} />
      </PersonName>
      <IconButton
        icon="close"
        label={t('app.rooms.withdraw', { name })}
        onClick={() => void endMembership(invitation).catch(setError)}
      />
    </li>
  )
}
