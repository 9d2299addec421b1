import { type ComponentProps, useId, useState } from 'react'
import { getButtonClass } from './button.tsx'
import styles from './file-field.module.css'

interface FileFieldProps extends Omit<ComponentProps<'input'>, 'id' | 'type'> {
  /** The label of the button. */
  label: string
}

/** Chooses a file. A label stands in for the field, whose own text is in the language of the browser. */
export function FileField({ label, onChange, ...rest }: FileFieldProps) {
  const [name, setName] = useState('')
  const id = useId()
  return (
    <div className={styles.file}>
      <input
        {...rest}
        id={id}
        type="file"
        onChange={(event) => {
          setName(event.target.files?.[0]?.name ?? '')
          onChange?.(event)
        }}
      />
      <label htmlFor={id} className={getButtonClass()}>
        {label}
      </label>
      <span>{name}</span>
    </div>
  )
}
