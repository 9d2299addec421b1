import { Link, useNavigate } from '@tanstack/react-router'
import { api } from '../../shared/api/client.ts'
import { Markdown } from '../../shared/markdown/markdown.tsx'
import { useSession } from '../../shared/session.tsx'
import { t } from '../../shared/text/labels.ts'
import { listLanguages } from '../../shared/text/languages.ts'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { Facts } from '../../shared/ui/facts.tsx'
import { Field } from '../../shared/ui/field.tsx'
import { Toolbar } from '../../shared/ui/toolbar.tsx'
import { ActionButton, RemoveButton, type VersionCondition } from '../action-button.tsx'
import { useCall } from '../admin-queries.ts'
import { InlineForm, TextWithPreview } from '../form-fields.tsx'
import { readText } from '../member-values.ts'
import { Loaded, Part, StateBadge, TextBlock } from '../parts.tsx'
import { listFacts } from '../record-form.tsx'
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
import {
  accessForm,
  EditAccess,
  EditModel,
  EditParameters,
  EditTools,
  modelForm,
  parameterForm,
  ToggleModelButton,
} from './model-dialogs.tsx'
import { EditPrices, formatPrice } from './prices.tsx'

/** A model, with all its settings. */
export function ModelPage({ id }: { id: string }) {
  const { data, error } = useCatalogue()
  const model = data && (data.models.find((each) => each.id === id) ?? null)
  return (
    <Loaded data={model} error={error}>
      {(found) => <ModelParts model={found} />}
    </Loaded>
  )
}

function ModelParts({ model }: { model: ModelWithProvider }) {
  const origins = useOrigins()
  const origin = origins.findModelOrigin(model)
  return (
    <OriginProvider value={origin}>
      <Part title={model.label}>
        <ModelFacts model={model} source={describeOrigin({ origin, file: origins.file })} />
        <Toolbar>
          <EditModel model={model} />
          <EditAccess model={model} />
          <EditPrices model={model} />
          <EditParameters model={model} />
          <EditTools model={model} />
          <ToggleModelButton model={model} />
          {!origin && <RemoveModel model={model} />}
        </Toolbar>
      </Part>
      <Descriptions model={model} />
      {model.modelType === 'chat' && <TryModel model={model} />}
    </OriginProvider>
  )
}

function ModelFacts({ model, source }: { model: ModelWithProvider; source: string | undefined }) {
  const { modelId, provider } = model
  const state = getModelState(model)
  return (
    <Facts
      facts={[
        [t('app.field.modelId'), <code key="id">{modelId}</code>],
        [t('app.admin.source'), source],
        [
          t('app.field.provider'),
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
        ...listFacts(accessForm, model, { usageTypes: t('app.admin.none') }, ['groups']),
        [t('app.field.groups'), listGroups(model)],
        [
          t('app.admin.pricePerMillion'),
          formatPrice(model) ?? (
            <StateBadge key="price" kind="wrong">
              {t('app.admin.priceUnknown')}
            </StateBadge>
          ),
        ],
        ...listFacts(parameterForm, model),
        ...listFacts(modelForm, model, {}, ['label', 'modelId']),
      ]}
    />
  )
}

/** Lists the groups that may use a model. The groups of its provider restrict it as well. */
export const listGroups = ({ groups = [], provider }: ModelWithProvider) =>
  [groups, provider?.groups ?? []]
    .filter((list) => list.length > 0)
    .map((list) => list.join(', '))
    .join(' + ') || t('app.admin.everybody')

function RemoveModel({ model }: { model: ModelWithProvider }) {
  const navigate = useNavigate()
  return (
    <RemoveButton
      title={t('app.admin.removeModelOf', { name: model.label })}
      text={t('app.admin.removeModelText')}
      record={model}
      act={async (_form, condition) => {
        await api.aiModels.delete.mutate({ id: model.id, ...condition })
        await navigate({ to: '/admin/$section', params: { section: 'models' } })
      }}
    />
  )
}

/** The descriptions by language. People see the default language where one is missing. */
function Descriptions({ model }: { model: ModelWithProvider }) {
  const { connection } = useSession()
  const { data = [], error } = useDescriptions(model.id)
  return (
    <Part title={t('app.admin.descriptions')}>
      <ErrorMessage error={error} />
      {listLanguages(connection).map(({ lang, nameInLanguage }) => (
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
    <TextBlock>
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
          width="wide"
          action={t('app.save')}
          {...(description && { record: description })}
          act={(form, condition) =>
            saveDescription({ model, locale, description, text: readText(form, 'text'), condition })
          }
        >
          <TextWithPreview label={t('app.admin.text')} name="text" value={description?.description ?? ''} />
        </ActionButton>
      ) : (
        <p className="hint">{t('app.admin.ownedBy', { line: `${line}` })}</p>
      )}
    </TextBlock>
  )
}

type SavedDescription = Omit<DescriptionPartProps, 'name'> & { text: string; condition: VersionCondition }

function saveDescription({ model, locale, description, text, condition }: SavedDescription) {
  if (!description) return api.aiModelDescriptions.create.mutate({ model: model.id, locale, description: text })
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
      <InlineForm action={t('app.admin.ask')} kind="primary" isWorking={isWorking} submit={ask}>
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
