import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { errorText } from '../shared/api/error-text.ts'
import { moneyText, numberText } from '../shared/text/amounts.ts'
import { t } from '../shared/text/labels.ts'
import { calendarDayText } from '../shared/text/moments.ts'
import { LimitMeters } from './limit-meters.tsx'
import { SettingsSection } from './settings-section.tsx'
import { UsageChart } from './usage-chart.tsx'
import { add, groupByModel, type Sum, sumUp, type Total } from './usage-sums.ts'

/** How much of each limit is used, and what the person asked models lately. */
export const UsageSettings = () => (
  <>
    <LimitMeters />
    <SettingsSection title={t('app.settings.usageTitle')}>
      <UsageReport />
    </SettingsSection>
  </>
)

/** What the service sums up, where nobody says otherwise, and today. */
const DAYS = 31

function UsageReport() {
  const { data: sums, error } = useQuery({
    queryKey: ['usage'],
    queryFn: ({ signal }) => api.usage.summary.query({}, { signal }),
  })
  if (error)
    return (
      <p className="wrong" role="alert">
        {errorText(error)}
      </p>
    )
  if (!sums) return <div className="settings-waiting" aria-busy="true" />
  if (sums.length === 0) return <p>{t('app.settings.usageNone')}</p>
  const total = sumUp(sums)
  return (
    <>
      <UsageChart sums={sums} days={DAYS} label={t('app.settings.usageChart', { tokens: numberText(total.tokens) })} />
      <SumTable head={t('app.settings.usageModel')} rows={groupByModel(sums)} total={total} />
      {remarksOn(sums).map((remark) => (
        <p key={remark} className="hint">
          {remark}
        </p>
      ))}
      <details>
        <summary>{t('app.settings.usageByDay')}</summary>
        <SumTable head={t('app.settings.usageDay')} rows={[...Map.groupBy(sums, ({ day }) => calendarDayText(day))]} />
      </details>
    </>
  )
}

interface SumTableProps {
  head: string
  rows: readonly (readonly [name: string, sums: readonly Sum[]])[]
  total?: Total
}

const SumTable = ({ head, rows, total }: SumTableProps) => (
  <table>
    <thead>
      <tr>
        <th scope="col">{head}</th>
        <th scope="col">{t('app.settings.usageRequests')}</th>
        <th scope="col">{t('app.settings.usageTokens')}</th>
        <th scope="col">{t('app.settings.usageCost')}</th>
      </tr>
    </thead>
    <tbody>
      {rows.map(([name, sums]) => (
        <SumRow key={name} name={name} {...sumUp(sums)} />
      ))}
    </tbody>
    {total && (
      <tfoot>
        <SumRow name={t('app.settings.usageTotal')} {...total} />
      </tfoot>
    )}
  </table>
)

const SumRow = ({ name, requests, tokens, costs }: Total & { name: string }) => (
  <tr>
    <td>{name}</td>
    <td>{numberText(requests)}</td>
    <td>{numberText(tokens)}</td>
    <td>{[...costs].map(([currency, micros]) => moneyText(micros, currency)).join(' + ') || '–'}</td>
  </tr>
)

/** What the sums lack, or have by our own count. */
function remarksOn(sums: readonly Sum[]): string[] {
  const [estimated, unpriced] = [add(sums, (sum) => sum.estimated), add(sums, (sum) => sum.unpriced)]
  return [
    ...(estimated > 0 ? [t('app.settings.usageEstimated', { count: estimated })] : []),
    ...(unpriced > 0 ? [t('app.settings.usageUnpriced', { count: unpriced })] : []),
  ]
}
