import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { readTokenReference, type TokenReference } from '../../../../entities/identity/token-reference.ts'
import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Facts } from '../shared/ui/facts.tsx'
import { Field } from '../shared/ui/field.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton } from './action-button.tsx'
import { useCall } from './admin-queries.ts'
import { InlineForm } from './form-fields.tsx'
import { readText } from './member-values.ts'
import { Part } from './parts.tsx'

type FoundToken = Awaited<ReturnType<typeof api.tokens.find.query>>

/** The result of a search: a token, or a sentence why there is none. */
type SearchResult = FoundToken | string

/** Finds whose a leaked token is, and revokes it. */
export function TokensSection() {
  const [searches, setSearches] = useState(0)
  const { isWorking, result, error, run } = useCall<SearchResult>()
  const find = async (form: FormData) => {
    const reference = readTokenReference(readText(form, 'token'))
    // A new field, so that the secret stays nowhere on the page.
    setSearches((count) => count + 1)
    await run(async () => (reference ? await findToken(reference) : t('app.admin.tokenForeign')))
  }
  const showRevoked = async () => run(async () => t('app.admin.tokenRevoked'))
  return (
    <Part title={t('app.admin.findTokenTitle')}>
      <p>{t('app.admin.findTokenText')}</p>
      <InlineForm key={searches} action={t('app.admin.findTokenAction')} isWorking={isWorking} submit={find}>
        <Field
          label={t('app.admin.tokenOrBeginning')}
          name="token"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          required
          hint={t('app.admin.tokenHint')}
        />
      </InlineForm>
      <div role="status">
        {typeof result === 'string' && <p>{result}</p>}
        {typeof result === 'object' && <TokenDetails token={result} done={showRevoked} />}
      </div>
      <ErrorMessage error={error} />
    </Part>
  )
}

/** Asks by the id alone. */
const findToken = ({ kind, id }: TokenReference): Promise<SearchResult> =>
  api.tokens.find.query({ kind, id }).catch((error: unknown) => {
    if (error instanceof SvcError && error.code === 'not_found') return t('app.admin.tokenUnknown', { id })
    throw error
  })

function TokenDetails({ token, done }: { token: FoundToken; done: () => Promise<void> }) {
  const { id, name, abilities, models, userId, username, appName, createdAt, lastUsedAt, expiresAt } = token
  const formatTime = (time: string | null) => (time ? formatDateTime(time) : t('app.admin.never'))
  return (
    <>
      <Facts
        facts={[
          [t('app.admin.kind'), t(userId === null ? 'app.admin.tokenOfApp' : 'app.admin.tokenOfPerson')],
          [
            t('app.admin.ofUser'),
            userId === null ? null : (
              <Link key="person" to="/admin/$section/$id" params={{ section: 'people', id: String(userId) }}>
                {username}
              </Link>
            ),
          ],
          [
            t('app.admin.ofApp'),
            appName === null ? null : (
              <Link key="app" to="/admin/$section" params={{ section: 'apps' }}>
                {appName}
              </Link>
            ),
          ],
          [t('app.name'), name],
          [t('app.field.abilities'), abilities?.map((ability) => t(`page.ability.${ability}`)).join(', ')],
          [t('app.settings.tokenModels'), models?.join(', ')],
          [t('app.admin.tokenCreated'), formatDateTime(createdAt)],
          [t('app.admin.lastUsed'), formatTime(lastUsedAt)],
          [t('app.admin.ends'), formatTime(expiresAt)],
        ]}
      />
      {userId === null ? (
        <p>{t('app.admin.tokenOfAppText')}</p>
      ) : (
        <Toolbar>
          <ActionButton
            label={t('app.admin.revoke')}
            title={t('app.admin.revokeOf', { name: name ?? '' })}
            text={t('app.admin.revokeText')}
            action={t('app.admin.revoke')}
            isDangerous
            act={async () => {
              await api.tokens.revokeFor.mutate({ user: { id: String(userId) }, tokenId: id })
              await done()
            }}
          />
        </Toolbar>
      )}
    </>
  )
}
