import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { errorText } from '../shared/api/error-text.ts'
import { moneyText, numberText } from '../shared/text/amounts.ts'
import { t } from '../shared/text/labels.ts'
import { minuteText } from '../shared/text/moments.ts'
import { SettingsSection } from './settings-section.tsx'

type Limit = Awaited<ReturnType<typeof api.usage.limits.query>>[number]

/** How much of each limit is used, and what is left; nothing where there are no limits. */
export function LimitMeters() {
  const { data = [], error } = useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => api.usage.limits.query(undefined, { signal }),
  })
  if (data.length === 0 && !error) return null
  return (
    <SettingsSection title={t('app.settings.limitsTitle')}>
      {error && (
        <p className="wrong" role="alert">
          {errorText(error)}
        </p>
      )}
      <ul className="limits" aria-label={t('app.settings.limitsTitle')}>
        {data.map((limit) => (
          <LimitMeter key={`${limit.name} ${limit.subject} ${limit.subjectId}`} limit={limit} />
        ))}
      </ul>
    </SettingsSection>
  )
}

/** From this part of a limit on, its meter warns. */
const NEARLY = 0.8

function LimitMeter({ limit }: { limit: Limit }) {
  const { cap, used, held } = limit
  const name = [limit.name, whoseOf(limit)].filter(Boolean).join(' · ')
  return (
    <li>
      <strong>{name}</strong>
      <meter
        aria-label={name}
        min={0}
        max={Math.max(1, cap)}
        low={NEARLY * cap}
        high={cap - 0.5}
        optimum={0}
        value={used + held}
      />
      <p className="hint">{limitSentence(limit)}</p>
    </li>
  )
}

/** By which people tell apart what each one of a kind has of its own; ids of people, tokens and apps tell them nothing. */
const whoseOf = ({ subject, subjectId, roomName }: Limit) => (named.has(subject) ? subjectId : roomName)

const named = new Set<string>(['provider', 'model', 'group'])

const unitLabels = { requests: 'app.settings.limitRequests', tokens: 'app.settings.limitTokens' } as const

function limitSentence({ unit, currency, mode, cap, used, held, remaining, resetsAt }: Limit): string {
  const amount = (count: number) => (unit === 'money' ? moneyText(count, currency ?? '') : numberText(count))
  const whole = unit === 'money' ? amount(cap) : t(unitLabels[unit], { count: cap })
  return [
    t('app.settings.limitUsed', { used: amount(used), cap: whole }),
    held > 0 && t('app.settings.limitHeld', { held: amount(held) }),
    t('app.settings.limitLeft', { left: amount(remaining) }),
    t('app.settings.limitResets', { at: minuteText(resetsAt) }),
    mode === 'observe' && t('app.settings.limitObserved'),
  ]
    .filter(Boolean)
    .join(' · ')
}
