import { useNavigate } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { describeLimitAmount, formatDate, formatDateTime, formatLimitAmount } from '../shared/text/formats.ts'
import { hasLabel, t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Facts } from '../shared/ui/facts.tsx'
import { Field } from '../shared/ui/field.tsx'
import { numberHead, Table } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton, RemoveButton } from './action-button.tsx'
import { MINUTE_MS, useCall, useRecords } from './admin-queries.ts'
import { useCatalogue } from './catalogue/catalogue.ts'
import { ChoiceInput, InlineForm } from './form-fields.tsx'
import { describeSubject } from './limit-texts.ts'
import { readText } from './member-values.ts'
import { Loaded, Part, StateBadge } from './parts.tsx'
import { getRoleLabel, getStateLabel, type Person, stateKinds, usePerson, usePersonTokens } from './people.ts'
import { PersonPrograms } from './person-programs.tsx'
import { defineForm, FormButton } from './record-form.tsx'

/** A person, with all actions on them. */
export function PersonPage({ id }: { id: string }) {
  const { data, error } = usePerson(id)
  return (
    <Loaded data={data} error={error}>
      {(person) => (
        <>
          <Part title={person.name}>
            <PersonFacts person={person} />
            <Toolbar>
              <ChangeRole person={person} />
              <ChangeGroups person={person} />
              <Rename person={person} />
              {person.localAccount && <SetPassword person={person} />}
            </Toolbar>
          </Part>
          <Part title={t('app.admin.access')}>
            <Tokens person={person} />
            <PersonPrograms id={person.id} />
            <Toolbar>
              <EndSessions person={person} />
              <ToggleAccess person={person} />
              <RemovePerson person={person} />
            </Toolbar>
          </Part>
          <PersonLimits person={person} />
          <ExplainModel person={person} />
        </>
      )}
    </Loaded>
  )
}

function getPersonState({ disabled, hasKeys }: Person): keyof typeof stateKinds {
  if (disabled) return 'disabled'
  return hasKeys ? 'active' : 'registering'
}

function PersonFacts({ person }: { person: Person }) {
  const { username, email, role, groups, subject, signedInAt, createdAt, sessions, tokens, localAccount } = person
  const state = getPersonState(person)
  const source = localAccount ? t('app.admin.sourceLocal') : (subject ?? t('app.admin.sourceNone'))
  return (
    <Facts
      facts={[
        [t('app.field.username'), username],
        [t('app.settings.email'), email],
        [
          t('app.admin.state'),
          <StateBadge key="state" kind={stateKinds[state]}>
            {getStateLabel(state)}
          </StateBadge>,
        ],
        [t('app.field.role'), getRoleLabel(role)],
        [t('app.field.groups'), groups.join(', ') || t('app.admin.none')],
        [t('app.admin.source'), source],
        [t('app.admin.signedIn'), signedInAt ? formatDateTime(signedInAt) : t('app.admin.never')],
        [t('app.admin.created'), formatDate(createdAt)],
        [t('app.admin.sessions'), sessions],
        [t('app.admin.tokens'), tokens],
      ]}
    />
  )
}

const toUserInput = ({ id }: Person) => ({ id: String(id) })

const roleForm = defineForm('admin.setRole', ['role'])
const groupForm = defineForm('admin.setGroups', ['groups'])
const nameForm = defineForm('admin.renameUser', ['to'])

const ChangeRole = ({ person }: { person: Person }) => (
  <FormButton
    label={t('app.admin.changeRole')}
    title={t('app.admin.roleOf', { name: person.name })}
    text={t('app.admin.roleText')}
    record={person}
    form={roleForm}
    save={(change) => api.admin.setRole.mutate({ user: toUserInput(person), ...change })}
  />
)

const ChangeGroups = ({ person }: { person: Person }) => (
  <FormButton
    label={t('app.admin.changeGroups')}
    title={t('app.admin.groupsOf', { name: person.name })}
    text={t('app.admin.groupsText')}
    record={person}
    form={groupForm}
    save={(change) => api.admin.setGroups.mutate({ user: toUserInput(person), ...change })}
  />
)

function Rename({ person }: { person: Person }) {
  const record = { to: person.username }
  return (
    <FormButton
      label={t('app.admin.rename')}
      title={t('app.admin.renameOf', { name: person.name })}
      text={t('app.admin.renameText')}
      action={t('app.admin.rename')}
      record={record}
      form={nameForm}
      save={(change) => api.admin.renameUser.mutate({ user: toUserInput(person), ...change })}
    />
  )
}

const SetPassword = ({ person }: { person: Person }) => (
  <ActionButton
    label={t('app.admin.setPassword')}
    title={t('app.admin.passwordOf', { name: person.name })}
    text={t('app.admin.setPasswordText')}
    action={t('app.save')}
    act={(form) => api.password.set.mutate({ user: toUserInput(person), password: String(form.get('password')) })}
  >
    <Field label={t('app.admin.password')} name="password" type="password" required autoComplete="new-password" />
  </ActionButton>
)

const EndSessions = ({ person }: { person: Person }) => (
  <ActionButton
    label={t('app.admin.endSessions')}
    title={t('app.admin.endSessionsOf', { name: person.name })}
    text={t('app.admin.endSessionsText')}
    action={t('app.admin.endSessions')}
    act={() => api.admin.endSessions.mutate({ user: toUserInput(person) })}
  />
)

function ToggleAccess({ person }: { person: Person }) {
  const toggle = (disabled: boolean) => () => api.admin.setDisabled.mutate({ user: toUserInput(person), disabled })
  return person.disabled ? (
    <ActionButton
      label={t('app.admin.enable')}
      title={t('app.admin.enableOf', { name: person.name })}
      text={t('app.admin.enableText')}
      action={t('app.admin.enable')}
      act={toggle(false)}
    />
  ) : (
    <ActionButton
      label={t('app.admin.disable')}
      title={t('app.admin.disableOf', { name: person.name })}
      text={t('app.admin.disableText')}
      action={t('app.admin.disable')}
      isDangerous
      act={toggle(true)}
    />
  )
}

/** Asks for the name of the person before they are removed. */
function RemovePerson({ person }: { person: Person }) {
  const navigate = useNavigate()
  return (
    <RemoveButton
      title={t('app.admin.removeOf', { name: person.name })}
      text={t('app.admin.removeText')}
      act={async (form) => {
        if (readText(form, 'typed') !== person.username) throw new InputError(t('app.admin.nameDiffers'))
        await api.admin.removeUser.mutate({ user: toUserInput(person) })
        await navigate({ to: '/admin/$section', params: { section: 'people' } })
      }}
    >
      <Field label={t('app.admin.typeName', { name: person.username })} name="typed" required autoComplete="off" />
    </RemoveButton>
  )
}

function Tokens({ person }: { person: Person }) {
  const { data, error } = usePersonTokens(String(person.id))
  if (!data) return <ErrorMessage error={error} />
  if (data.length === 0) return <p className="hint">{t('app.admin.noTokens')}</p>
  return (
    <Table
      label={t('app.admin.tokens')}
      heads={[t('app.admin.token'), t('app.admin.lastUsed'), t('app.admin.ends'), t('app.admin.actions')]}
      rows={data.map(({ id, name, lastUsedAt, expiresAt }) => ({
        key: `${id}`,
        cells: [
          name,
          lastUsedAt ? formatDateTime(lastUsedAt) : t('app.admin.never'),
          expiresAt ? formatDate(expiresAt) : t('app.admin.never'),
          <ActionButton
            key="revoke"
            label={t('app.admin.revoke')}
            title={t('app.admin.revokeOf', { name })}
            text={t('app.admin.revokeText')}
            action={t('app.admin.revoke')}
            isDangerous
            act={() => api.tokens.revokeFor.mutate({ user: toUserInput(person), tokenId: id })}
          />,
        ],
      }))}
    />
  )
}

/** Lists the limits that apply to a person, with their origins. */
function PersonLimits({ person: { id, username } }: { person: Person }) {
  const { data, error } = useRecords(
    ['limits-of', id],
    (signal) => api.limits.of.query({ user: { id: String(id) } }, { signal }),
    MINUTE_MS,
  )
  const heads = [
    t('app.name'),
    t('app.field.for'),
    numberHead(t('app.admin.used')),
    numberHead(t('app.field.cap')),
    t('app.admin.resets'),
  ]
  return (
    <Part title={t('app.admin.limits')}>
      <ErrorMessage error={error} />
      {data?.length === 0 && <p className="hint">{t('app.admin.unlimited')}</p>}
      {data && data.length > 0 && (
        <Table
          label={t('app.admin.limits')}
          heads={heads}
          rows={data.map((limit) => ({
            key: `${limit.name} ${limit.subjectId}`,
            cells: [
              limit.name,
              describeSubject(limit.subject === 'user' ? { ...limit, subjectName: username } : limit),
              formatLimitAmount(limit, limit.used + limit.held),
              describeLimitAmount(limit, limit.cap),
              formatDateTime(limit.resetsAt),
            ],
          }))}
        />
      )}
    </Part>
  )
}

type Explanation = Awaited<ReturnType<typeof api.models.explain.query>>

/** Explains why a person can or cannot use a model. */
function ExplainModel({ person }: { person: Person }) {
  const catalogue = useCatalogue()
  const { isWorking, result, error, run } = useCall<Explanation>()
  const explain = (form: FormData) =>
    run(() => api.models.explain.query({ user: toUserInput(person), model: readText(form, 'model') }))
  return (
    <Part title={t('app.admin.mayAsk')}>
      <Loaded data={catalogue.data} error={catalogue.error}>
        {({ models }) => (
          <InlineForm action={t('app.admin.explain')} isWorking={isWorking} submit={explain}>
            <ChoiceInput
              label={t('app.field.model')}
              name="model"
              value=""
              choices={models.map(({ modelId, label }) => [modelId, label])}
            />
          </InlineForm>
        )}
      </Loaded>
      <div role="status">{result && <Reasons {...result} />}</div>
      <ErrorMessage error={error} />
    </Part>
  )
}

const ways = [
  ['browser', 'app.admin.inBrowser'],
  ['token', 'app.admin.withToken'],
] as const

type Reason = Explanation['browser']['reasons'][number]

/** Describes a reason in the language of the page; an extension's own words stay as they are. */
function describeReason({ code, values }: Reason): string {
  const { time, problem, surface } = values
  const key = [problem, [code, surface].filter(Boolean).join('.')]
    .map((name) => `app.admin.reason.${name}`)
    .find(hasLabel)
  return t(key ?? `app.admin.reason.${code}`, { ...values, ...(time !== undefined && { time: formatDateTime(time) }) })
}

const Reasons = (explanation: Explanation) => (
  <Facts
    facts={ways.map(([way, label]) => [
      t(label),
      <>
        <StateBadge kind={explanation[way].canAsk ? 'ok' : 'wrong'}>
          {t(explanation[way].canAsk ? 'app.admin.canAsk' : 'app.admin.cannotAsk')}
        </StateBadge>
        <ul>
          {explanation[way].reasons.map((reason) => (
            <li key={reason.sentence}>{describeReason(reason)}</li>
          ))}
        </ul>
      </>,
    ])}
  />
)
