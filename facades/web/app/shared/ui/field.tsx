import { type ComponentProps, type ReactNode, useId } from 'react'
import { joinClasses } from './class-names.ts'
import styles from './field.module.css'
import { Input } from './input.tsx'

/** The attributes by which the label and the hint belong to a control. */
export interface ControlProps {
  id: string
  'aria-describedby': string | undefined
}

interface LabelledFieldProps {
  label: ReactNode
  hint?: ReactNode
  className?: string | undefined
  children: (control: ControlProps) => ReactNode
}

/** A control with its label above it and perhaps a hint below it. */
export function LabelledField({ label, hint, className, children }: LabelledFieldProps) {
  const id = useId()
  return (
    <div className={joinClasses(styles.field, className)}>
      <label htmlFor={id} className={styles.label}>
        {label}
      </label>
      {children({ id, 'aria-describedby': hint ? `${id}-hint` : undefined })}
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface FieldProps extends ComponentProps<'input'> {
  label: string
  hint?: string | undefined
}

/** A labelled field of a form. */
export const Field = ({ label, hint, className, ...rest }: FieldProps) => (
  <LabelledField label={label} hint={hint} className={className}>
    {(control) => <Input {...control} {...rest} />}
  </LabelledField>
)

/** Several controls under one label. */
export const FieldGroup = ({ label, children }: { label: string; children: ReactNode }) => (
  <div className={styles.field}>
    <span className={styles.label}>{label}</span>
    {children}
  </div>
)
