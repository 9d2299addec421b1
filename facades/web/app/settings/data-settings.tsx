import { useQuery } from '@tanstack/react-query'
import { SvcError } from '../../../client/index.ts'
import { api, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { language, t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Outcome, SettingsSection, useAction } from './settings-form.tsx'

const key = ['person-export']

const readCurrentExport = (signal: AbortSignal) => api.personExports.current.query(undefined, { signal })
type PersonExport = NonNullable<Awaited<ReturnType<typeof readCurrentExport>>>

/** Milliseconds between two reads while an export is prepared. */
const POLL_INTERVAL_MS = 2000

/** Requests and downloads a copy of the person's data. */
export function DataSettings() {
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => readCurrentExport(signal),
    refetchInterval: ({ state }) => (state.data?.state === 'waiting' ? POLL_INTERVAL_MS : false),
  })
  const { run, outcome, isWrong, isBusy } = useAction()
  const isWaiting = data?.state === 'waiting'
  return (
    <SettingsSection title={t('app.settings.dataTitle')}>
      <p>{t('app.settings.dataIntro')}</p>
      <p className="hint">{t('app.settings.dataLimits')}</p>
      {error ? (
        <ErrorMessage error={error} />
      ) : (
        <div aria-busy={data === undefined} role="status">
          {data && <ExportState personExport={data} />}
        </div>
      )}
      <p className="button-row">
        {data?.state === 'ready' && (
          <a className="button" href={`/req/profile/export/${data.id}`} download>
            {t('app.settings.dataFetch')}
          </a>
        )}
        {/* A disabled button would lose the focus. */}
        <button
          type="button"
          className={data?.state === 'ready' ? 'quiet-button' : 'button'}
          aria-disabled={isWaiting || isBusy}
          onClick={() => isWaiting || run(requestExport)}
        >
          {t(data ? 'app.settings.dataAgain' : 'app.settings.dataRequest')}
        </button>
      </p>
      <Outcome outcome={outcome} isWrong={isWrong} />
    </SettingsSection>
  )
}

async function requestExport(): Promise<undefined> {
  try {
    await api.personExports.request.mutate()
  } catch (error) {
    throw error instanceof SvcError && error.status === 429 ? new InputError(t('app.settings.dataTooMany')) : error
  } finally {
    await queryClient.invalidateQueries({ queryKey: key })
  }
}

const sizeFormat = new Intl.NumberFormat(language, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 1 })

function ExportState({
  personExport: { state, requestedAt, endedAt, expiresAt, bytes },
}: {
  personExport: PersonExport
}) {
  if (state === 'waiting') return <p>{t('app.settings.dataWaiting', { time: formatDateTime(requestedAt) })}</p>
  if (state === 'failed')
    return <p className="wrong">{t('app.settings.dataFailed', { time: formatDateTime(endedAt ?? requestedAt) })}</p>
  return (
    <>
      <p>
        {t('app.settings.dataReady', {
          time: formatDateTime(requestedAt),
          size: sizeFormat.format((bytes ?? 0) / 1e6),
        })}
      </p>
      <p>{t('app.settings.dataExpires', { time: formatDateTime(expiresAt) })}</p>
      <p className="hint">{t('app.settings.dataOpen')}</p>
    </>
  )
}
