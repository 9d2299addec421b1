import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api } from '../shared/api/client.ts'
import { formatNumber, formatUtcDay } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { numberHead, Table } from '../shared/ui/table.tsx'
import { MINUTE_MS, useFigures, useRecords } from './admin-queries.ts'
import { findChoice } from './filters.ts'
import styles from './overview-section.module.css'
import { UsageOverview } from './overview-usage.tsx'
import { Part, StateBadge } from './parts.tsx'
import type { SectionName } from './sections.ts'

/** The health of the service, open decisions and usage. */
export const OverviewSection = () => (
  <>
    <Health />
    <Decisions />
    <EndingModels />
    <UsageOverview />
  </>
)

function Health() {
  const { data, error } = useFigures(['health'], (signal) => api.overview.health.query(undefined, { signal }))
  return (
    <Part title={t('app.admin.health')}>
      <ErrorMessage error={error} />
      {!data && !error && <Skeleton height="low" />}
      {data && (
        <>
          <p>
            <StateBadge kind={data.status === 'healthy' ? 'ok' : 'wrong'}>
              {t(data.status === 'healthy' ? 'app.admin.allWell' : 'app.admin.notWell')}
            </StateBadge>
          </p>
          <ul className={styles.states}>
            {data.parts.map(({ name, status, message }) => (
              <li key={name} title={message}>
                <StateBadge kind={status === 'ok' ? 'ok' : 'wrong'}>{getPartLabel(name)}</StateBadge>
                {status !== 'ok' && <p className="hint">{message}</p>}
              </li>
            ))}
          </ul>
          {data.replicas.length > 0 && (
            <Table
              label={t('app.admin.otherReplicas')}
              heads={[
                t('app.admin.replica'),
                t('app.admin.health'),
                numberHead(t('app.admin.connections')),
                numberHead(t('app.admin.behind')),
              ]}
              rows={data.replicas.map(({ replica, failing, connections, behind }) => ({
                key: replica,
                cells: [
                  replica,
                  <ReplicaState key="health" failing={failing} />,
                  formatNumber(connections),
                  formatNumber(behind),
                ],
              }))}
            />
          )}
        </>
      )}
    </Part>
  )
}

const partLabels = {
  database: 'app.admin.partDatabase',
  cache: 'app.admin.partCache',
  kvstore: 'app.admin.partKvstore',
  storage: 'app.admin.partStorage',
  changeBus: 'app.admin.partChangeBus',
} as const
const parts = ['database', 'cache', 'kvstore', 'storage', 'changeBus'] as const

/** Returns the label of a part. Parts of extensions show their own name. */
function getPartLabel(name: string): string {
  const part = findChoice(parts, name)
  return part ? t(partLabels[part]) : name
}

/** The health of another replica, as it reports it. */
function ReplicaState({ failing }: { failing: readonly string[] | null }) {
  if (failing === null) return <StateBadge kind="idle">{t('app.admin.partsUnknown')}</StateBadge>
  if (failing.length === 0) return <StateBadge kind="ok">{t('app.admin.allWell')}</StateBadge>
  return (
    <StateBadge kind="wrong">{t('app.admin.partsFailing', { names: failing.map(getPartLabel).join(', ') })}</StateBadge>
  )
}

interface DecisionProps {
  section: SectionName
  search?: Record<string, string>
  children: string
}

/** An open decision, with a link to the section where it is made. */
const Decision = ({ section, search = {}, children }: DecisionProps) => (
  <li>
    <Link to="/admin/$section" params={{ section }} search={search}>
      {children}
    </Link>
  </li>
)

function Decisions() {
  const { data, error } = useRecords(
    ['decisions'],
    (signal) => api.overview.decisions.query(undefined, { signal }),
    MINUTE_MS,
  )
  const near = useFigures(['near'], (signal) => api.overview.limits.query({}, { signal }))
  const limits = near.data?.length ?? 0
  const { toolsToApprove: tools, offlineModels: models, leftTokens: tokens, deprecatedCallers: callers } = data ?? {}
  const all: (ReactNode | false)[] = [
    tools && tools.total > 0 && (
      <Decision key="tools" section="tools">
        {t('app.admin.decideTools', { count: tools.total })}
      </Decision>
    ),
    models && models.total > 0 && (
      <Decision key="models" section="models" search={{ state: 'offline' }}>
        {t('app.admin.decideModels', { count: models.total })}
      </Decision>
    ),
    limits > 0 && (
      <Decision key="limits" section="limits" search={{ near: 'yes' }}>
        {t('app.admin.decideLimits', { count: limits })}
      </Decision>
    ),
    tokens && tokens.total > 0 && (
      <Decision key="tokens" section="people" search={{ state: 'disabled' }}>
        {t('app.admin.decideTokens', { count: tokens.total })}
      </Decision>
    ),
    callers && callers.total > 0 && (
      <Decision key="callers" section="settings">
        {t('app.admin.decideCallers', { count: callers.total })}
      </Decision>
    ),
  ]
  const waiting = all.filter(Boolean)
  return (
    <Part title={t('app.admin.decisions')}>
      <ErrorMessage error={error ?? near.error} />
      {waiting.length > 0 && <ul>{waiting}</ul>}
      {data && near.data && waiting.length === 0 && <p className="hint">{t('app.admin.nothingWaits')}</p>}
    </Part>
  )
}

/** The models that end, with all that names them. */
function EndingModels() {
  const { data = [], error } = useFigures(['endings'], (signal) => api.overview.endings.query(undefined, { signal }))
  if (error && data.length === 0) return <ErrorMessage error={error} />
  if (data.length === 0) return null
  return (
    <Part title={t('app.admin.endings')}>
      <Table
        label={t('app.admin.endings')}
        heads={[
          t('app.field.model'),
          t('app.admin.endsOn'),
          t('app.field.successor'),
          numberHead(t('app.admin.endingChats')),
          t('app.admin.namedBy'),
        ]}
        rows={data.map(({ id, label, endsAt, successor, chats, tasks, limits, models }) => ({
          key: String(id),
          cells: [
            <Link key="model" to="/admin/$section/$id" params={{ section: 'models', id: String(id) }}>
              {label}
            </Link>,
            formatUtcDay(endsAt),
            successor ?? '–',
            formatNumber(chats),
            [...tasks, ...limits, ...models].join(', ') || '–',
          ],
        }))}
      />
    </Part>
  )
}
