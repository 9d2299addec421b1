import type { Model } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'

interface ModelPickerProps {
  models: readonly Model[] | undefined
  model: Model | undefined
  choose: (modelId: string) => void
}

/** Which model the next question goes to. */
export const ModelPicker = ({ models = [], model, choose }: ModelPickerProps) => (
  <select aria-label={t('app.model')} value={model?.modelId ?? ''} onChange={(event) => choose(event.target.value)}>
    {models.map(({ modelId, label }) => (
      <option key={modelId} value={modelId}>
        {label}
      </option>
    ))}
  </select>
)
