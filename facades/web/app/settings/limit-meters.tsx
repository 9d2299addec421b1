import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { WARN_SHARE } from '../shared/limit-share.ts'
import { describeLimitAmount, describeLimitCap, formatLimitAmount, formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { type CatalogueNames, useCatalogueNames } from './catalogue-names.ts'
import styles from './limit-meters.module.css'
import { SettingsSection } from './settings-section.tsx'

type Limit = Awaited<ReturnType<typeof api.usage.limits.query>>[number]

/** Each limit of the person, and how much of it is left; hidden if there are no limits. */
export function LimitMeters() {
  const names = useCatalogueNames()
  const { data = [], error } = useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => api.usage.limits.query(undefined, { signal }),
  })
  if (data.length === 0 && !error) return null
  return (
    <SettingsSection title={t('app.settings.limitsTitle')}>
      <ErrorMessage error={error} />
      <ul className={styles.limits} aria-label={t('app.settings.limitsTitle')}>
        {data.map((limit) => (
          <LimitMeter key={`${limit.name} ${limit.subject} ${limit.subjectId}`} limit={limit} names={names} />
        ))}
      </ul>
    </SettingsSection>
  )
}

function LimitMeter({ limit, names }: { limit: Limit; names: CatalogueNames }) {
  const { name, cap, used, held, remaining } = limit
  const coverage = describeCoverage(limit, names)
  return (
    <li>
      <p className={styles.head}>
        <strong>{name}</strong>
        <span>
          {remaining > 0
            ? t('app.settings.limitLeft', { left: describeLimitAmount(limit, remaining) })
            : t('app.settings.limitSpent')}
        </span>
      </p>
      <p>{coverage}</p>
      <meter
        aria-label={`${name}: ${coverage}`}
        min={0}
        max={Math.max(1, cap)}
        low={WARN_SHARE * cap}
        high={cap - 0.5}
        optimum={0}
        value={used + held}
      />
      <p className="hint">{describeUse(limit)}</p>
    </li>
  )
}

const coverageLabels = {
  installation: 'app.settings.limitOfAll',
  role: 'app.settings.limitOfRole',
  group: 'app.settings.limitOfGroup',
  provider: 'app.settings.limitOfProvider',
  model: 'app.settings.limitOfModel',
  room: 'app.settings.limitOfRoom',
  user: 'app.settings.limitOfPerson',
  app: 'app.settings.limitOfPerson',
  token: 'app.settings.limitOfPerson',
  'tool-server': 'app.settings.limitOfToolServer',
  tool: 'app.settings.limitOfTool',
} as const

/** Says who can use how much of what. */
const describeCoverage = (limit: Limit, names: CatalogueNames) =>
  t(coverageLabels[limit.subject], {
    name: getSubjectName(limit, names),
    limit: describeLimitCap(limit),
  })

function getSubjectName({ subject, subjectId, roomName, serverLabel }: Limit, names: CatalogueNames): string {
  if (subject === 'model') return names.models.get(subjectId) ?? subjectId
  if (subject === 'provider') return names.providers.get(subjectId) ?? subjectId
  return roomName ?? serverLabel ?? subjectId
}

/** Says what was used, and when the count begins again. */
function describeUse(limit: Limit): string {
  const { mode, used, held, resetsAt } = limit
  return [
    t('app.settings.limitUsed', { used: formatLimitAmount(limit, used) }),
    held > 0 && t('app.settings.limitHeld', { held: formatLimitAmount(limit, held) }),
    t('app.settings.limitResets', { at: formatTimestamp(new Date(resetsAt)) }),
    mode === 'observe' && t('app.settings.limitObserved'),
  ]
    .filter(Boolean)
    .join(' · ')
}
