import { useState } from 'react'
import { type FoundPerson, PeopleSearch } from '../shared/people-search.tsx'
import { t } from '../shared/text/labels.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Button } from '../shared/ui/button.tsx'
import { CopyButton } from '../shared/ui/copy-button.tsx'
import { ErrorMessage, InlineError } from '../shared/ui/error-message.tsx'
import { FieldGroup, LabelledField } from '../shared/ui/field.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Input, Select } from '../shared/ui/input.tsx'
import { acceptKeyOf, createInvitationLink, invitePerson } from './invitations.ts'
import styles from './invite-dialog.module.css'
import { KeyChanged } from './keyring.ts'
import { PeopleList, PersonName } from './people-list.tsx'
import { QrCode } from './qr-code.tsx'
import { type Role, roleLabels, roles } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'

const roleHints = {
  admin: 'app.role.admin.about',
  editor: 'app.role.editor.about',
  viewer: 'app.role.viewer.about',
} as const

/** Invites people by name or by link. */
export function InviteDialog({ close }: { close: () => void }) {
  const [role, setRole] = useState<Role>('editor')
  return (
    <FormDialog title={t('app.rooms.invite')} close={close}>
      <LabelledField label={t('app.rooms.role')} hint={t(roleHints[role])}>
        {(control) => (
          <Select {...control} value={role} onChange={({ target }) => setRole(target.value as Role)}>
            {roles.map((each) => (
              <option key={each} value={each}>
                {t(roleLabels[each])}
              </option>
            ))}
          </Select>
        )}
      </LabelledField>
      <InviteByName role={role} />
      {/* A link has the role that it was made with. */}
      <InviteByLink key={role} role={role} />
    </FormDialog>
  )
}

const InviteByName = ({ role }: { role: Role }) => (
  <LabelledField label={t('app.rooms.findPeople')}>
    {(control) => (
      <PeopleSearch control={control}>
        {(people) => (
          <PeopleList>
            {people.map((person) => (
              <PersonRow key={person.id} person={person} role={role} />
            ))}
          </PeopleList>
        )}
      </PeopleSearch>
    )}
  </LabelledField>
)

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
      <Avatar name={name} />
      <PersonName name={name}>
        <span className="hint">@{username}</span>
        {state === 'waiting' && <span className="hint">{t('app.rooms.withoutKeys')}</span>}
        {typeof state === 'object' && <InlineError error={state.error} />}
        {typeof state === 'object' && state.error instanceof KeyChanged && (
          <Button kind="plain" onClick={() => void accept()}>
            {t('app.keys.acceptOf', { name })}
          </Button>
        )}
      </PersonName>
      {state === 'invited' ? (
        <span className="hint" role="status">
          {t('app.rooms.isInvited')}
        </span>
      ) : (
        <Button
          disabled={state === 'working' || state === 'waiting'}
          aria-label={t('app.rooms.invitePerson', { name })}
          onClick={() => void invite()}
        >
          {t('app.rooms.invite')}
        </Button>
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
    <FieldGroup label={t('app.rooms.link')}>
      <ErrorMessage error={error} />
      {link === undefined ? (
        <Button disabled={isWorking} onClick={() => void make()}>
          {t('app.rooms.makeLink')}
        </Button>
      ) : (
        <>
          <p className={styles.link}>
            <Input readOnly value={link} aria-label={t('app.rooms.link')} />
            <CopyButton text={link} label={t('app.rooms.copyLink')} />
          </p>
          <QrCode text={link} label={t('app.rooms.qrCode')} />
        </>
      )}
      <p className="hint">{t('app.rooms.linkHint')}</p>
    </FieldGroup>
  )
}
