import { Link, useNavigate } from '@tanstack/react-router'
import { api } from '../../shared/api/client.ts'
import { Markdown } from '../../shared/markdown/markdown.tsx'
import { useSession } from '../../shared/session.tsx'
import { formatDate } from '../../shared/text/formats.ts'
import { t } from '../../shared/text/labels.ts'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton, type VersionCondition } from '../action-button.tsx'
import { useCall } from '../admin-queries.ts'
import { InlineForm, readText, TextWithPreview } from '../form-fields.tsx'
import { Facts, Part, StaleNotice, StateBadge } from '../parts.tsx'
import {
  type Description,
  getModelState,
  type ModelWithProvider,
  modelStateKinds,
  modelStateLabels,
  useCatalogue,
  useDescriptions,
} from './catalogue.ts'
import { describeOrigin, findLine, OriginProvider, useOrigin, useOrigins } from './config-file.tsx'
import { EditAccess, EditModel, EditParameters, EditTools, ToggleModelButton } from './model-dialogs.tsx'
import { EditPrices, formatPrice } from './prices.tsx'

/** A model, with all its settings. */
export function ModelPage({ id }: { id: string }) {
  const { data, error } = useCatalogue()
  const origins = useOrigins()
  const model = data?.models.find((each) => each.id === id)
  if (error && !data) return <ErrorMessage error={error} />
  if (!data) return <div className="admin-waiting" aria-busy="true" />
  if (!model) return <p>{t('app.error.not_found')}</p>
  const origin = origins.findModelOrigin(model)
  return (
    <OriginProvider value={origin}>
      <StaleNotice error={error} />
      <Part title={model.label}>
        <ModelFacts model={model} source={describeOrigin({ origin, file: origins.file })} />
        <div className="button-row">
          <EditModel model={model} />
          <EditAccess model={model} />
          <EditPrices model={model} />
          <EditParameters model={model} />
          <EditTools model={model} />
          <ToggleModelButton model={model} />
          {!origin && <RemoveModel model={model} />}
        </div>
      </Part>
      <Descriptions model={model} />
      {model.modelType === 'chat' && <TryModel model={model} />}
    </OriginProvider>
  )
}

function ModelFacts({ model, source }: { model: ModelWithProvider; source: string | undefined }) {
  const { modelId, upstreamId, provider, flags, fallback = [], limits, deprecationDate, position } = model
  const state = getModelState(model)
  return (
    <Facts
      facts={[
        [t('app.admin.modelId'), <code key="id">{modelId}</code>],
        [t('app.admin.source'), source],
        [t('app.admin.upstreamId'), upstreamId],
        [
          t('app.admin.provider'),
          provider && (
            <Link key="provider" to="/admin/$section/$id" params={{ section: 'providers', id: provider.id }}>
              {provider.name}
            </Link>
          ),
        ],
        [
          t('app.admin.state'),
          <StateBadge key="state" kind={modelStateKinds[state]}>
            {t(modelStateLabels[state])}
          </StateBadge>,
        ],
        [t('app.admin.surfaces'), listSurfaces(model)],
        [t('app.admin.groups'), listGroups(model)],
        [
          t('app.admin.pricePerMillion'),
          formatPrice(model) ?? (
            <StateBadge key="price" kind="wrong">
              {t('app.admin.priceUnknown')}
            </StateBadge>
          ),
        ],
        [t('app.admin.maxInput'), limits?.maxInputTokens],
        [t('app.admin.maxOutput'), limits?.maxOutputTokens],
        [t('app.admin.position'), position],
        [t('app.admin.flags'), flags.join(', ')],
        [t('app.admin.fallback'), fallback.join(', ')],
        [t('app.admin.deprecation'), deprecationDate && formatDate(deprecationDate)],
      ]}
    />
  )
}

const surfaceLabels = { main: 'app.admin.surfaceMain', external: 'app.admin.surfaceExternal' } as const

export const listSurfaces = ({ usageTypes = [] }: Pick<ModelWithProvider, 'usageTypes'>) =>
  usageTypes.map((usageType) => t(surfaceLabels[usageType])).join(', ') || t('app.admin.none')

/** Lists the groups that may use a model. The groups of its provider restrict it as well. */
export const listGroups = ({ groups = [], provider }: ModelWithProvider) =>
  [groups, provider?.groups ?? []]
    .filter((list) => list.length > 0)
    .map((list) => list.join(', '))
    .join(' + ') || t('app.admin.everybody')

function RemoveModel({ model }: { model: ModelWithProvider }) {
  const navigate = useNavigate()
  return (
    <ActionButton
      label={t('app.admin.remove')}
      title={t('app.admin.removeModelOf', { name: model.label })}
      text={t('app.admin.removeModelText')}
      action={t('app.admin.remove')}
      isDangerous
      record={model}
      act={async (_form, condition) => {
        await api.aiModels.delete.mutate({ id: model.id, ...condition })
        await navigate({ to: '/admin/$section', params: { section: 'models' } })
      }}
    />
  )
}

interface Language {
  lang: string
  nameInLanguage: string
}

/** The descriptions by language. People see the default language where one is missing. */
function Descriptions({ model }: { model: ModelWithProvider }) {
  const { connection } = useSession()
  const { data = [], error } = useDescriptions(model.id)
  const languages = (connection.configs['locale']?.['available'] ?? []) as Language[]
  return (
    <Part title={t('app.admin.descriptions')}>
      <ErrorMessage error={error} />
      {languages.map(({ lang, nameInLanguage }) => (
        <DescriptionPart
          key={lang}
          model={model}
          locale={lang}
          name={nameInLanguage}
          description={data.find(({ locale }) => locale === lang)}
        />
      ))}
    </Part>
  )
}

interface DescriptionPartProps {
  model: ModelWithProvider
  locale: string
  name: string
  description: Description | undefined
}

function DescriptionPart({ model, locale, name, description }: DescriptionPartProps) {
  const line = findLine(useOrigin(), 'descriptions')
  return (
    <div className="admin-text">
      <h3>{name}</h3>
      {description ? (
        <div lang={locale.slice(0, 2)}>
          <Markdown text={description.description} />
        </div>
      ) : (
        <p className="hint">{t('app.admin.noText')}</p>
      )}
      {line === undefined ? (
        <ActionButton
          label={t('app.admin.editText', { name })}
          title={t('app.admin.editText', { name })}
          action={t('app.save')}
          {...(description && { record: description })}
          act={(form, condition) =>
            saveDescription({ model, locale, description, text: readText(form, 'text'), condition })
          }
        >
          <TextWithPreview label={t('app.admin.text')} name="text" value={description?.description ?? ''} />
        </ActionButton>
      ) : (
        <p className="hint">{t('app.admin.ownedBy', { line })}</p>
      )}
    </div>
  )
}

type SavedDescription = Omit<DescriptionPartProps, 'name'> & { text: string; condition: VersionCondition }

function saveDescription({ model, locale, description, text, condition }: SavedDescription) {
  if (!description)
    return api.aiModelDescriptions.create.mutate({ model: model.id, locale: locale as 'de_DE', description: text })
  const row = { id: description.id, ...condition }
  return text === ''
    ? api.aiModelDescriptions.delete.mutate(row)
    : api.aiModelDescriptions.update.mutate({ ...row, description: text })
}

/** Sends a question to the model. */
function TryModel({ model }: { model: ModelWithProvider }) {
  const { isWorking, result, error, run } = useCall<{ text: string }>()
  const ask = (form: FormData) => {
    const messages = [{ role: 'user' as const, content: { text: readText(form, 'question') } }]
    return run(() => api.ai.ask.mutate({ model: model.modelId, messages }))
  }
  return (
    <Part title={t('app.admin.try')}>
      <InlineForm action={t('app.admin.ask')} className="button" isWorking={isWorking} submit={ask}>
        <Field
          label={t('app.admin.question')}
          name="question"
          defaultValue={t('app.admin.tryText')}
          required
          maxLength={2000}
        />
      </InlineForm>
      <div role="status">{result && <Markdown text={result.text} />}</div>
      <ErrorMessage error={error} />
    </Part>
  )
}
