import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { CopyButton } from '../shared/ui/copy-button.tsx'
import { ErrorMessage, InlineError } from '../shared/ui/error-message.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { acceptKeyOf, createInvitationLink, type FoundPerson, findPeople, invitePerson } from './invitations.ts'
import { KeyChanged } from './keyring.ts'
import { QrCode } from './qr-code.tsx'
import { type Role, roleLabels, roles } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'

/** The shortest query that the service accepts. */
const MIN_CHARACTERS = 3

const roleHints = {
  admin: 'app.role.admin.about',
  editor: 'app.role.editor.about',
  viewer: 'app.role.viewer.about',
} as const

/** Invites people by name or by link. */
export function InviteDialog({ close }: { close: () => void }) {
  const [role, setRole] = useState<Role>('editor')
  const id = useId()
  return (
    <FormDialog title={t('app.rooms.invite')} close={close}>
      <div className="field">
        <label htmlFor={id}>{t('app.rooms.role')}</label>
        <select id={id} value={role} onChange={({ target }) => setRole(target.value as Role)}>
          {roles.map((each) => (
            <option key={each} value={each}>
              {t(roleLabels[each])}
            </option>
          ))}
        </select>
        <p className="hint">{t(roleHints[role])}</p>
      </div>
      <InviteByName role={role} />
      {/* A link has the role that it was made with. */}
      <InviteByLink key={role} role={role} />
    </FormDialog>
  )
}

function InviteByName({ role }: { role: Role }) {
  const id = useId()
  const [text, setText] = useState('')
  const query = useDeferredValue(text.trim())
  const { data: people, error } = useQuery({
    queryKey: ['people', query],
    enabled: query.length >= MIN_CHARACTERS,
    queryFn: () => findPeople(query),
  })
  return (
    <div className="field">
      <label htmlFor={id}>{t('app.rooms.findPeople')}</label>
      <input
        id={id}
        type="search"
        className="text-field"
        value={text}
        maxLength={254}
        autoComplete="off"
        placeholder={t('app.rooms.findPeopleHint')}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      />
      <ErrorMessage error={error} />
      {people?.length === 0 && <p className="hint">{t('app.rooms.nobody')}</p>}
      <ul className="members found-people">
        {(people ?? []).map((person) => (
          <PersonRow key={person.id} person={person} role={role} />
        ))}
      </ul>
    </div>
  )
}

function PersonRow({ person, role }: { person: FoundPerson; role: Role }) {
  const { session } = useRoom()
  const room = useRoomView((view) => view.room)
  const [state, setState] = useState<'ready' | 'working' | 'invited' | 'waiting' | { error: unknown }>('ready')
  const invite = async () => {
    if (!room) return
    setState('working')
    try {
      setState((await invitePerson(session, room, person, role)) ? 'invited' : 'waiting')
    } catch (error) {
      setState({ error })
    }
  }
  const { displayName: name, username } = person
  const accept = () => acceptKeyOf(session, person).then(invite, (error: unknown) => setState({ error }))
  return (
    <li>
      <span className="member-name">
        <span dir="auto">{name}</span>
        <span className="hint">@{username}</span>
        {state === 'waiting' && <span className="hint">{t('app.rooms.withoutKeys')}</span>}
        {typeof state === 'object' && <InlineError error={state.error} />}
        {typeof state === 'object' && state.error instanceof KeyChanged && (
          <button type="button" className="plain-button" onClick={() => void accept()}>
            {t('app.keys.acceptOf', { name })}
          </button>
        )}
      </span>
      {state === 'invited' ? (
        <span className="hint" role="status">
          {t('app.rooms.isInvited')}
        </span>
      ) : (
        <button
          type="button"
          className="quiet-button"
          disabled={state === 'working' || state === 'waiting'}
          aria-label={t('app.rooms.invitePerson', { name })}
          onClick={() => void invite()}
        >
          {t('app.rooms.invite')}
        </button>
      )}
    </li>
  )
}

function InviteByLink({ role }: { role: Role }) {
  const { session } = useRoom()
  const room = useRoomView((view) => view.room)
  const [link, setLink] = useState<string>()
  const [isWorking, setWorking] = useState(false)
  const [error, setError] = useState<unknown>()
  const make = async () => {
    if (!room) return
    setWorking(true)
    setError(undefined)
    await createInvitationLink(session, room, role).then(setLink, setError)
    setWorking(false)
  }
  return (
    <div className="field">
      <span className="label">{t('app.rooms.link')}</span>
      <ErrorMessage error={error} />
      {link === undefined ? (
        <button type="button" className="quiet-button" disabled={isWorking} onClick={() => void make()}>
          {t('app.rooms.makeLink')}
        </button>
      ) : (
        <>
          <p className="link-row">
            <input className="text-field" readOnly value={link} aria-label={t('app.rooms.link')} />
            <CopyButton text={link} label={t('app.rooms.copyLink')} />
          </p>
          <QrCode text={link} label={t('app.rooms.qrCode')} />
        </>
      )}
      <p className="hint">{t('app.rooms.linkHint')}</p>
    </div>
  )
}
