import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { minuteText } from '../../shared/text/moments.ts'
import { FormError } from '../../shared/ui/form-dialog.tsx'
import { MINUTE_MS, useRead } from '../admin-queries.ts'
import { amountText, whomText } from '../limit-texts.ts'
import { Part } from '../part.tsx'
import { PlainTable } from '../plain-table.tsx'
import type { Person } from './people.ts'

/** The limits that hold for a person, with what each comes from. */
export function PersonLimits({ person: { id } }: { person: Person }) {
  const { data = [], error } = useRead(
    ['limits-of', id],
    (signal) => api.limits.of.query({ user: { id: String(id) } }, { signal }),
    MINUTE_MS,
  )
  const heads = [
    t('app.name'),
    t('app.admin.for'),
    `#${t('app.admin.used')}`,
    `#${t('app.admin.cap')}`,
    t('app.admin.resets'),
  ]
  return (
    <Part title={t('app.admin.limits')}>
      {error && <FormError error={error} />}
      {data.length === 0 ? (
        <p className="hint">{t('app.admin.unlimited')}</p>
      ) : (
        <PlainTable
          label={t('app.admin.limits')}
          heads={heads}
          rows={data.map((limit) => ({
            key: `${limit.name} ${limit.subjectId}`,
            cells: [
              limit.name,
              whomText(limit),
              amountText(limit, limit.used + limit.held),
              amountText(limit, limit.cap),
              minuteText(limit.resetsAt),
            ],
          }))}
        />
      )}
    </Part>
  )
}
