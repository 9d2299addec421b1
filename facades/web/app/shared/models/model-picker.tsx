import { Combobox } from '@base-ui/react/combobox'
import { t } from '../text/labels.ts'
import { Icon } from '../ui/icon.tsx'
import { type ChatModel, describeModel } from './models.ts'

export interface ModelPickerProps {
  models: readonly ChatModel[] | undefined
  model: ChatModel | undefined
  choose: (modelId: string) => void
}

/** Chooses the model for the next question from a searchable list. */
export const ModelPicker = ({ models = [], model, choose }: ModelPickerProps) => (
  <Combobox.Root
    defaultOpen
    items={models}
    value={model ?? null}
    onValueChange={(selected) => selected && choose(selected.modelId)}
    itemToStringLabel={({ label }: ChatModel) => label}
    filter={isMatch}
  >
    <Combobox.Trigger
      className="model-trigger"
      aria-label={t('app.model.chosen', { name: model?.label ?? t('app.model.none') })}
    >
      <span>{model?.label ?? t('app.model.none')}</span>
      <Icon name="chevron" />
    </Combobox.Trigger>
    <Combobox.Portal>
      <Combobox.Positioner align="end" sideOffset={4} className="positioner">
        <Combobox.Popup className="popup models" aria-label={t('app.model')}>
          <Combobox.Input
            className="text-field"
            placeholder={t('app.model.search')}
            aria-label={t('app.model.search')}
          />
          <Combobox.Empty>
            <p className="menu-note">{t('app.model.nothing')}</p>
          </Combobox.Empty>
          <Combobox.List>{(each: ChatModel) => <ModelItem key={each.modelId} model={each} />}</Combobox.List>
        </Combobox.Popup>
      </Combobox.Positioner>
    </Combobox.Portal>
  </Combobox.Root>
)

const ModelItem = ({ model }: { model: ChatModel }) => (
  <Combobox.Item value={model} className="menu-item model">
    <span className="model-name">{model.label}</span>
    <span className="hint">{describeModel(model).join(' · ')}</span>
    {model.description && <span className="hint model-about">{model.description}</span>}
  </Combobox.Item>
)

function isMatch(model: ChatModel, query: string): boolean {
  const needle = query.trim().toLowerCase()
  return [model.label, model.modelId, model.providerName].some((text) => text.toLowerCase().includes(needle))
}
