import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { MAX_TOKEN_MODELS } from '../../../../routers/ports/token-models.ts'
import { SvcError } from '../../../client/index.ts'
import { api, type Model, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { DAY_MS } from '../shared/days.ts'
import { formatDate, formatDateTime, formatNames } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { Choice } from '../shared/ui/choice.tsx'
import { Field, LabelledField } from '../shared/ui/field.tsx'
import { Select } from '../shared/ui/input.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { ItemList } from './item-list.tsx'
import { SettingsSection } from './settings-section.tsx'
import styles from './token-settings.module.css'

const key = ['tokens']

const TokenModels = lazy(async () => ({ default: (await import('./token-models.tsx')).TokenModels }))

/** The access tokens of the person. */
export function TokenSettings() {
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.tokens.list.query(undefined, { signal }),
  })
  if (error instanceof SvcError && error.code === 'token_creation_off')
    return (
      <SettingsSection title={t('app.settings.tokensTitle')}>
        <p>{t('app.error.token_creation_off')}</p>
      </SettingsSection>
    )
  return (
    <ItemList
      title={t('app.settings.tokensTitle')}
      intro={t('app.settings.tokensIntro')}
      items={data?.map((token) => ({
        key: token.id,
        name: token.name,
        details: [
          describeAbilities(token.abilities),
          ...(token.models ? [t('app.settings.tokenAsks', { models: formatNames(token.models) })] : []),
          describeTokenTimes(token),
        ],
        confirmation: {
          title: t('app.settings.tokenRevokeSure', { name: token.name }),
          text: t('app.settings.tokenRevokeText'),
          action: t('app.settings.tokenRevoke'),
        },
        remove: async () => {
          await api.tokens.revoke.mutate({ tokenId: token.id })
          await queryClient.invalidateQueries({ queryKey: key })
          return t('app.settings.tokenRevoked', { name: token.name })
        },
      }))}
      error={error}
      none={t('app.settings.tokenNone')}
      removeText={t('app.settings.tokenRevoke')}
    >
      <TokenForm />
    </ItemList>
  )
}

/** Describes the abilities of a token or an app. */
export const describeAbilities = (abilities: readonly string[]) =>
  t('app.settings.tokenMay', { abilities: abilities.map((ability) => t(`page.ability.${ability}`)).join(', ') })

/** Describes the last use of a token or an app. */
export const describeLastUse = (lastUsedAt: string | null) =>
  lastUsedAt ? t('app.settings.tokenUsed', { time: formatDateTime(lastUsedAt) }) : t('app.settings.tokenUnused')

interface TokenTimes {
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

const describeTokenTimes = ({ createdAt, lastUsedAt, expiresAt }: TokenTimes) =>
  [
    t('app.settings.tokenMade', { day: formatDate(createdAt) }),
    describeLastUse(lastUsedAt),
    expiresAt ? t('app.settings.tokenEnds', { day: formatDate(expiresAt) }) : t('app.settings.tokenEndless'),
  ].join(' · ')

/** The lifetimes to choose from, in days. */
const lifetimes = [7, 30, 90, 365]
const DEFAULT_DAYS = 90

interface MadeToken {
  token: string
  /** The names to which it is bound; undefined for all. */
  models: string[] | undefined
}

function TokenForm() {
  const [made, setMade] = useState<MadeToken>()
  const [isBound, setBound] = useState(false)
  const create = async (form: HTMLFormElement) => {
    setMade(undefined)
    const models = isBound ? new FormData(form).getAll('model').map(String) : undefined
    if (models && (models.length === 0 || models.length > MAX_TOKEN_MODELS))
      throw new InputError(t('app.settings.tokenModelsWrong', { most: MAX_TOKEN_MODELS }))
    const days = Number(readField(form, 'days'))
    const expiresAt = days > 0 ? { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() } : {}
    const wanted = { name: readField(form, 'name'), tools: new FormData(form).has('tools'), ...expiresAt, models }
    const created = await api.tokens.create.mutate(wanted).catch(explainName)
    setMade({ token: created.token, models })
    form.reset()
    setBound(false)
    await queryClient.invalidateQueries({ queryKey: key })
    return t('app.settings.tokenOnce')
  }
  return (
    <ActionForm
      label={t('app.settings.tokenMake')}
      submitText={t('app.settings.tokenMake')}
      submit={create}
      result={made && <NewToken {...made} />}
    >
      <div className={styles.pair}>
        <Field
          label={t('app.settings.tokenName')}
          name="name"
          autoComplete="off"
          maxLength={16}
          required
          hint={t('app.settings.tokenNameHint')}
        />
        <LabelledField label={t('app.settings.tokenDays')}>
          {(control) => (
            <Select {...control} name="days" defaultValue={DEFAULT_DAYS}>
              {lifetimes.map((days) => (
                <option key={days} value={days}>
                  {t('app.settings.tokenForDays', { days })}
                </option>
              ))}
              <option value="">{t('app.settings.tokenForever')}</option>
            </Select>
          )}
        </LabelledField>
      </div>
      <Choice name="tools" label={t('app.settings.tokenTools', { address: `${location.origin}/mcp` })} />
      <BoundModels isBound={isBound} change={setBound} />
    </ActionForm>
  )
}

/** Asks whether the token is bound, and to which models and assistants. */
const BoundModels = ({ isBound, change }: { isBound: boolean; change: (isBound: boolean) => void }) => (
  <>
    <Choice label={t('app.settings.tokenBound')} checked={isBound} onChange={({ target }) => change(target.checked)} />
    {isBound && (
      <Suspense>
        <TokenModels />
      </Suspense>
    )}
  </>
)

/** Names the limits of a token's name, as names of other things have others. */
function explainName(error: unknown): never {
  const isAboutName = error instanceof SvcError && error.issues.some(({ path }) => path.at(-1) === 'name')
  throw isAboutName ? new InputError(t('app.settings.tokenNameWrong')) : error
}

/** Shows a new token once, with an example request that uses it. */
function NewToken({ token, models }: MadeToken) {
  const { data: model = models?.[0] ?? 'demo' } = useQuery({
    queryKey: ['token-model', models],
    queryFn: () => findModel(models),
  })
  const request = buildExampleRequest(token, model)
  const [before, after] = t('app.settings.tokenRequestHint').split(':link')
  return (
    <>
      <Secret label={t('app.settings.tokensTitle')} text={token} copyText={t('app.settings.tokenCopy')} />
      <h3>{t('app.settings.tokenRequest')}</h3>
      <p className="hint">
        {before}
        <a href="/docs" target="_blank" rel="noreferrer">
          {t('app.settings.tokenDocs')}
        </a>
        {after}
      </p>
      <Secret label={t('app.settings.tokenRequest')} text={request} copyText={t('app.settings.tokenRequestCopy')} />
    </>
  )
}

/** Returns the id of a chat model or an assistant that the token can use, if there is one. */
async function findModel(names: string[] | undefined): Promise<string> {
  const { items } = await api.aiModels.list.query({ page: { size: 200 } })
  const isOpen = ({ active, modelType, usageTypes }: Model) =>
    active && modelType === 'chat' && (usageTypes?.includes('external') ?? true)
  const models = items.filter(isOpen).map(({ modelId }) => modelId)
  if (!names) return models[0] ?? 'demo'
  return names.find((name) => models.includes(name) || name.startsWith('assistant/')) ?? names[0] ?? 'demo'
}

const buildExampleRequest = (token: string, model: string) => `curl ${location.origin}/v1/chat/completions \\
  -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] })}'`
