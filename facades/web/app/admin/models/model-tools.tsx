import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { ActionButton } from '../action-dialog.tsx'
import { useRead } from '../admin-queries.ts'
import { CheckInput } from '../choice-input.tsx'
import { type OwnedModel, versionOf } from './catalogue.ts'

/** Which tools a model may call. */
export function ModelTools({ model }: { model: OwnedModel }) {
  const { data = [] } = useRead(['ai-tools'], async (signal) => {
    const { items } = await api.aiTools.list.query({ page: { size: 1000 } }, { signal })
    return items
  })
  return (
    <ActionButton
      label={t('app.admin.tools')}
      title={t('app.admin.toolsOf', { name: model.label })}
      action={t('app.save')}
      act={(form) =>
        api.aiModels.update.mutate({ id: model.id, ...versionOf(model), tools: form.getAll('tool').map(String) })
      }
    >
      {data.length === 0 && <p className="hint">{t('app.admin.noTools')}</p>}
      <fieldset className="checks">
        <legend>{t('app.admin.tools')}</legend>
        {data.map(({ id, name }) => (
          <CheckInput key={id} label={name} name="tool" value={id} isChecked={model.toolIds.includes(Number(id))} />
        ))}
      </fieldset>
    </ActionButton>
  )
}
