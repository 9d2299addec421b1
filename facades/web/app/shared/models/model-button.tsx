import { lazy, Suspense, useState } from 'react'
import { t } from '../text/labels.ts'
import { Icon } from '../ui/icon.tsx'
import type { ModelPickerProps } from './model-picker.tsx'

/** The picker loads on demand, as most people keep the model that they used before. */
const ModelPicker = lazy(async () => ({ default: (await import('./model-picker.tsx')).ModelPicker }))

/** Shows the model for the next question, and opens the picker. */
export function ModelButton(props: ModelPickerProps) {
  const [isPickerOpen, setPickerOpen] = useState(false)
  const name = props.model?.label ?? t('app.model.none')
  const button = (
    <button
      type="button"
      role="combobox"
      className="model-trigger"
      aria-haspopup="listbox"
      aria-expanded={false}
      aria-label={t('app.model.chosen', { name })}
      onClick={() => setPickerOpen(true)}
    >
      <span>{name}</span>
      <Icon name="chevron" />
    </button>
  )
  return isPickerOpen ? (
    <Suspense fallback={button}>
      <ModelPicker {...props} />
    </Suspense>
  ) : (
    button
  )
}
