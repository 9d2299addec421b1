import type { ReactNode } from 'react'
import { PeopleSearch } from '../shared/people-search.tsx'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import styles from './editor-page.module.css'

interface EditorsFieldProps {
  /** Usernames. */
  editors: readonly string[]
  change: (editors: string[]) => void
  /** Shows the button by which an editor becomes the owner. */
  showHandOver: (username: string) => ReactNode
}

/** The people who may change an assistant beside its owner. */
export function EditorsField({ editors, change, showHandOver }: EditorsFieldProps) {
  const { connection } = useSession()
  const taken = [...editors, connection.userinfo?.username]
  return (
    <LabelledField label={t('app.assistants.editors')} hint={t('app.assistants.editorsHint')}>
      {(control) => (
        <>
          {editors.length > 0 && (
            <ul className={styles.rows} aria-label={t('app.assistants.editors')}>
              {editors.map((username) => (
                <li key={username} className={styles.row}>
                  <span>@{username}</span>
                  {showHandOver(username)}
                  <IconButton
                    icon="close"
                    label={t('app.assistants.removeRow', { name: username })}
                    onClick={() => change(editors.filter((each) => each !== username))}
                  />
                </li>
              ))}
            </ul>
          )}
          <PeopleSearch
            control={control}
            isOffered={({ username, publicKey }) => publicKey !== null && !taken.includes(username)}
          >
            {(people, clear) => (
              <ul className={styles.rows} aria-label={t('app.assistants.foundPeople')}>
                {people.map(({ id, displayName, username }) => (
                  <li key={id} className={styles.row}>
                    <span>
                      {displayName} <span className="hint">@{username}</span>
                    </span>
                    <Button
                      aria-label={t('app.assistants.addEditor', { name: displayName })}
                      onClick={() => {
                        change([...editors, username])
                        clear()
                      }}
                    >
                      {t('app.assistants.add')}
                    </Button>
                  </li>
                ))}
              </ul>
            )}
          </PeopleSearch>
        </>
      )}
    </LabelledField>
  )
}
