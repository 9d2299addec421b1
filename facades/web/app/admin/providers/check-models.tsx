import { useState } from 'react'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { FormError } from '../../shared/ui/form-dialog.tsx'
import { write } from '../admin-queries.ts'

/** Asks all providers, or one, which models they offer now, which also tells whether address and key are right. */
export function CheckModels({ provider }: { provider?: string }) {
  const [state, setState] = useState<'ready' | 'working' | { checks: readonly Check[] } | { error: unknown }>('ready')
  const check = async () => {
    setState('working')
    setState(
      await write(() => api.models.check.mutate({ ...(provider !== undefined && { provider }) })).then(
        (checks) => ({ checks }),
        (error: unknown) => ({ error }),
      ),
    )
  }
  return (
    <>
      <span role="status">{typeof state === 'object' && 'checks' in state && checkText(state.checks)}</span>
      {typeof state === 'object' && 'error' in state && <FormError error={state.error} />}
      <button type="button" className="quiet-button" aria-disabled={state === 'working'} onClick={check}>
        {t(state === 'working' ? 'page.working' : 'app.admin.testCall')}
      </button>
    </>
  )
}

type Check = Awaited<ReturnType<typeof api.models.check.mutate>>[number]

function checkText(checks: readonly Check[]): string {
  if (checks.length === 0) return t('app.admin.nothingToAsk')
  const failed = checks.filter(({ status }) => status !== 'online')
  if (failed.length === 0) return t('app.admin.allOnline', { count: checks.length })
  return t('app.admin.notOnline', { names: failed.map(({ modelId }) => modelId).join(', ') })
}
