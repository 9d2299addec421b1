import { useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../shared/api/client.ts'
import { formatDate } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ItemList } from './item-list.tsx'
import { describeAbilities, describeLastUse } from './token-settings.tsx'

const key = ['programs']

type Grant = Awaited<ReturnType<typeof api.oauth.grants.query>>[number]

/** The programs that the person has signed in. */
export function ProgramSettings() {
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.oauth.grants.query(undefined, { signal }),
  })
  return (
    <ItemList
      title={t('app.settings.programsTitle')}
      intro={t('app.settings.programsIntro')}
      items={data?.map((grant) => ({
        key: grant.id,
        name: grant.name,
        details: describeGrant(grant),
        remove: async () => {
          await api.oauth.endGrant.mutate({ id: grant.id })
          await queryClient.invalidateQueries({ queryKey: key })
          return t('app.settings.programEnded', { name: grant.name })
        },
      }))}
      error={error}
      none={t('app.settings.programsNone')}
      removeText={t('app.settings.programEnd')}
    />
  )
}

function describeGrant(grant: Grant): string[] {
  const { abilities, createdAt, lastUsedAt, endsAt, replayedAt } = grant
  const times = [
    t('app.settings.programSince', { day: formatDate(createdAt) }),
    describeLastUse(lastUsedAt),
    ...(replayedAt === null ? [t('app.settings.tokenEnds', { day: formatDate(endsAt) })] : []),
  ]
  return [
    describeOrigin(grant),
    describeAbilities(abilities),
    ...(abilities.includes('mcp') ? [describeServers(grant)] : []),
    times.join(' · '),
    ...(replayedAt === null ? [] : [t('app.settings.programReplayed', { day: formatDate(replayedAt) })]),
  ]
}

/** Describes who vouches for the name of a program, and what it calls itself at each request. */
function describeOrigin({ kind, host, device }: Grant): string {
  const origin = host ?? t(`app.settings.programKind.${kind}`)
  return device === null ? origin : `${origin} · ${device}`
}

function describeServers({ servers }: Grant): string {
  if (servers === null) return t('app.settings.programAllServers')
  const labels = servers.map(({ label }) => label).join(', ')
  return t('app.settings.programServers', { labels: labels || t('app.settings.programNoServer') })
}
