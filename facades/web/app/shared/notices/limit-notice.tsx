import { useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../api/client.ts'
import { getUsedShare, WARN_SHARE } from '../limit-share.ts'
import { describeLimitAmount, formatTimestamp } from '../text/formats.ts'
import { t } from '../text/labels.ts'
import { Notice } from '../ui/notice.tsx'

type Limit = Awaited<ReturnType<typeof api.usage.limits.query>>[number]

/** Shows the limit that is nearest to its cap, and the time of its reset. */
export function LimitNotice() {
  const { data = [] } = useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => api.usage.limits.query(undefined, { signal }),
  })
  const near = data.filter((limit) => limit.active && limit.mode === 'enforce' && getUsedShare(limit) >= WARN_SHARE)
  const nearest = near.toSorted((a, b) => getUsedShare(b) - getUsedShare(a))[0]
  return nearest ? <LimitMeter limit={nearest} /> : null
}

/** Reads the limits again, after a question was counted or refused. */
export const refreshLimits = () => queryClient.invalidateQueries({ queryKey: ['limits'] })

function LimitMeter({ limit }: { limit: Limit }) {
  const { name, cap, used, held, remaining, resetsAt } = limit
  const text = t(remaining <= 0 ? 'app.limit.reached' : 'app.limit.near', {
    name,
    left: describeLimitAmount(limit, remaining),
    at: formatTimestamp(new Date(resetsAt)),
  })
  return (
    <Notice kind="warning" layout="row">
      <meter aria-label={name} min={0} max={Math.max(1, cap)} low={WARN_SHARE * cap} optimum={0} value={used + held} />
      <span>{text}</span>
    </Notice>
  )
}
