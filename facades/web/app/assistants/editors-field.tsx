import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { api } from '../shared/api/client.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { Input } from '../shared/ui/input.tsx'
import styles from './editor-page.module.css'

/** The shortest query that the service accepts. */
const MIN_CHARACTERS = 3

interface EditorsFieldProps {
  /** Usernames. */
  editors: readonly string[]
  change: (editors: string[]) => void
}

/** The people who may change an assistant beside its owner. */
export function EditorsField({ editors, change }: EditorsFieldProps) {
  const { connection } = useSession()
  const [text, setText] = useState('')
  const query = useDeferredValue(text.trim())
  const { data, error } = useQuery({
    queryKey: ['people', query],
    enabled: query.length >= MIN_CHARACTERS,
    queryFn: async () => (await api.users.findPeople.mutate({ query })).meta.people,
  })
  const taken = [...editors, connection.userinfo?.username]
  const found = data?.filter(({ username, publicKey }) => publicKey && !taken.includes(username))
  const add = (username: string) => {
    change([...editors, username])
    setText('')
  }
  return (
    <LabelledField label={t('app.assistants.editors')} hint={t('app.assistants.editorsHint')}>
      {(control) => (
        <>
          {editors.length > 0 && (
            <ul className={styles.rows} aria-label={t('app.assistants.editors')}>
              {editors.map((username) => (
                <li key={username} className={styles.row}>
                  <span>@{username}</span>
                  <IconButton
                    icon="close"
                    label={t('app.assistants.removeRow', { name: username })}
                    onClick={() => change(editors.filter((each) => each !== username))}
                  />
                </li>
              ))}
            </ul>
          )}
          <Input
            {...control}
            type="search"
            value={text}
            maxLength={254}
            autoComplete="off"
            placeholder={t('app.rooms.findPeopleHint')}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
          />
          <ErrorMessage error={error} />
          {found?.length === 0 && <p className="hint">{t('app.rooms.nobody')}</p>}
          {found && found.length > 0 && (
            <ul className={styles.rows} aria-label={t('app.assistants.foundPeople')}>
              {found.map(({ id, displayName, username }) => (
                <li key={id} className={styles.row}>
                  <span>
                    {displayName} <span className="hint">@{username}</span>
                  </span>
                  <Button
                    aria-label={t('app.assistants.addEditor', { name: displayName })}
                    onClick={() => add(username)}
                  >
                    {t('app.assistants.add')}
                  </Button>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </LabelledField>
  )
}
