import { lazy, Suspense, useState } from 'react'
import { t } from '../text/labels.ts'
import { Icon } from '../ui/icon.tsx'
import type { ModelPickerProps } from './model-picker.tsx'

/** Loaded when somebody wants to choose: most people ask the model that they asked before. */
const ModelPicker = lazy(async () => ({ default: (await import('./model-picker.tsx')).ModelPicker }))

/** Which model the next question goes to. */
export function ModelButton(props: ModelPickerProps) {
  const [isWanted, setWanted] = useState(false)
  const name = props.model?.label ?? t('app.model.none')
  const button = (
    <button
      type="button"
      role="combobox"
      className="model-trigger"
      aria-haspopup="listbox"
      aria-expanded={false}
      aria-label={t('app.model.chosen', { name })}
      onClick={() => setWanted(true)}
    >
      <span>{name}</span>
      <Icon name="chevron" />
    </button>
  )
  return isWanted ? (
    <Suspense fallback={button}>
      <ModelPicker {...props} />
    </Suspense>
  ) : (
    button
  )
}
