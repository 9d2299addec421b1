import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { Choice, ChoiceGroup } from '../shared/ui/choice.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import styles from './token-settings.module.css'

/** Offers the models and assistants to which a token can be bound, as fields `model` of the form around it. */
export function TokenModels() {
  const { data, error } = useQuery({
    queryKey: ['token-models'],
    queryFn: ({ signal }) => api.tokens.bindable.query(undefined, { signal }),
  })
  return (
    <ChoiceGroup label={t('app.settings.tokenModels')}>
      {data?.length === 0 && <p className="hint">{t('app.settings.tokenModelsMissing')}</p>}
      <div className={styles.models}>
        {data?.map(({ name, label }) => (
          <Choice key={name} name="model" value={name} label={label === name ? name : `${label} (${name})`} />
        ))}
      </div>
      <ErrorMessage error={error} />
    </ChoiceGroup>
  )
}
