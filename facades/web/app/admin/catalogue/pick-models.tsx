import { useQuery } from '@tanstack/react-query'
import { api } from '../../shared/api/client.ts'
import { withFreshSession } from '../../shared/fresh-session.tsx'
import { t } from '../../shared/text/labels.ts'
import { ChoiceGroup } from '../../shared/ui/choice.tsx'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { ActionButton } from '../action-button.tsx'
import { withServiceReason } from '../admin-queries.ts'
import { CheckInput } from '../form-fields.tsx'
import type { Provider } from './catalogue.ts'

/** Asks a provider for its own list, which also tests its address and key, and adds the chosen models. */
export const PickModels = ({ provider }: { provider: Provider }) => (
  <ActionButton
    label={t('app.admin.pickModels')}
    title={t('app.admin.pickModelsOf', { name: provider.name })}
    text={t('app.admin.pickModelsText')}
    action={t('app.admin.add')}
    act={(form) => api.models.import.mutate({ provider: provider.providerId, only: form.getAll('model').map(String) })}
  >
    <OfferedModels provider={provider.providerId} />
  </ActionButton>
)

/** The models of the list that are not known here yet. It is read once, as each read asks the provider. */
function OfferedModels({ provider }: { provider: string }) {
  const { data, error } = useQuery({
    queryKey: ['offered models', provider],
    queryFn: () => withFreshSession(() => api.models.import.mutate({ provider, dryRun: true })),
    gcTime: 0,
    retry: false,
  })
  if (error) return <ErrorMessage error={withServiceReason(error)} />
  if (!data) return <p role="status">{t('page.working')}</p>
  const added = data.filter(({ does }) => does === 'add')
  if (added.length === 0) return <p role="status">{t('app.admin.nothingToPick')}</p>
  return (
    <ChoiceGroup label={t('app.admin.models')}>
      {added.map(({ name }) => (
        <CheckInput key={name} label={name} name="model" value={name} isChecked={false} />
      ))}
    </ChoiceGroup>
  )
}
