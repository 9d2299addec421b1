import { type FormEvent, useId, useState } from 'react'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { FormError } from '../../shared/ui/form-dialog.tsx'
import { readText } from '../action-dialog.tsx'
import { useCatalogue } from '../models/catalogue.ts'
import { Part } from '../part.tsx'
import { State } from '../state.tsx'
import type { Person } from './people.ts'

type Explanation = Awaited<ReturnType<typeof api.models.explain.query>>

/** Says why a person can, or cannot, ask a model. */
export function ExplainModel({ person }: { person: Person }) {
  const { data } = useCatalogue()
  const [outcome, setOutcome] = useState<Explanation | { error: unknown }>()
  const id = useId()
  const ask = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const model = readText(new FormData(event.currentTarget), 'model')
    const asked = api.models.explain.query({ user: { id: String(person.id) }, model })
    setOutcome(await asked.catch((error: unknown) => ({ error })))
  }
  return (
    <Part title={t('app.admin.mayAsk')}>
      <form className="try" onSubmit={ask}>
        <div className="field">
          <label htmlFor={id}>{t('app.admin.model')}</label>
          <select id={id} name="model">
            {data?.models.map(({ modelId, label }) => (
              <option key={modelId} value={modelId}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <button type="submit" className="quiet-button">
          {t('app.admin.explain')}
        </button>
      </form>
      <div role="status">{outcome && 'canAsk' in outcome && <Reasons {...outcome} />}</div>
      {outcome && 'error' in outcome && <FormError error={outcome.error} />}
    </Part>
  )
}

const Reasons = ({ canAsk, reasons }: Explanation) => (
  <>
    <State kind={canAsk ? 'ok' : 'wrong'}>{t(canAsk ? 'app.admin.canAsk' : 'app.admin.cannotAsk')}</State>
    <ul lang="en">
      {reasons.map(({ code, sentence }) => (
        <li key={code}>{sentence}</li>
      ))}
    </ul>
  </>
)
