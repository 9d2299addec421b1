import { lazy, type ReactNode, Suspense, useState } from 'react'
import { t } from '../text/labels.ts'
import { Icon } from '../ui/icon.tsx'
import type { ModelPickerProps } from './model-picker.tsx'
import styles from './models.module.css'

/** The picker loads on demand, as most people keep the model that they used before. */
const ModelPicker = lazy(async () => ({ default: (await import('./model-picker.tsx')).ModelPicker }))

/** Shows the model for the next question, and opens the picker. */
export function ModelButton(props: Pick<ModelPickerProps, 'models' | 'model' | 'choose'>): ReactNode {
  const name = props.model?.label ?? t(props.models ? 'app.model.none' : 'page.working')
  return (
    <PickerButton {...props} label={t('app.model.chosen', { name })} className={styles.trigger}>
      <span>{name}</span>
      <Icon name="chevron" />
    </PickerButton>
  )
}

/** A button that opens the picker of models, once they are there. */
export function PickerButton(props: ModelPickerProps): ReactNode {
  const [isPickerOpen, setPickerOpen] = useState(false)
  const { label, className, children } = props
  const button = (
    <button
      type="button"
      role="combobox"
      className={className}
      aria-haspopup="listbox"
      aria-expanded={false}
      aria-label={label}
      title={label}
      onClick={() => setPickerOpen(true)}
    >
      {children}
    </button>
  )
  return isPickerOpen && props.models ? (
    <Suspense fallback={button}>
      <ModelPicker {...props} />
    </Suspense>
  ) : (
    button
  )
}
