import { useQuery } from '@tanstack/react-query'
import { SvcError } from '../../../client/index.ts'
import { api, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { language, t } from '../shared/text/labels.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { AccountRemoval } from './account-removal.tsx'
import { SettingsSection } from './settings-section.tsx'

const key = ['person-export']

const readCurrentExport = (signal: AbortSignal) => api.personExports.current.query(undefined, { signal })
type PersonExport = NonNullable<Awaited<ReturnType<typeof readCurrentExport>>>

/** Milliseconds between two reads while an export is prepared. */
const POLL_INTERVAL_MS = 2000

/** The copy of the person's data, and the removal of the account. */
export const DataSettings = () => (
  <>
    <DataCopy />
    <AccountRemoval />
  </>
)

/** Requests and downloads a copy of the person's data. */
function DataCopy() {
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
      {error && !data ? (
        <ErrorMessage error={error} />
      ) : (
        <div aria-busy={data === undefined} role="status">
          {data && <ExportState personExport={data} />}
        </div>
      )}
      <Toolbar>
        {data?.state === 'ready' && (
          <a className={getButtonClass('primary')} href={`/req/profile/export/${data.id}`} download>
            {t('app.settings.dataFetch')}
          </a>
        )}
        {/* A disabled button would lose the focus. */}
        <Button
          kind={data?.state === 'ready' ? 'quiet' : 'primary'}
          aria-disabled={isWaiting || isBusy}
          onClick={() => isWaiting || run(requestExport)}
        >
          {t(data ? 'app.settings.dataAgain' : 'app.settings.dataRequest')}
        </Button>
      </Toolbar>
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
    return <p className="error">{t('app.settings.dataFailed', { time: formatDateTime(endedAt ?? requestedAt) })}</p>
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
