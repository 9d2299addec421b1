import { useId } from 'react'

interface ChoiceInputProps {
  label: string
  name: string
  value: string
  choices: readonly (readonly [value: string, text: string])[]
}

/** A field of a form in which one of some is chosen. */
export function ChoiceInput({ label, name, value, choices }: ChoiceInputProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} name={name} defaultValue={value}>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface CheckInputProps {
  label: string
  name: string
  value?: string
  isChecked: boolean
}

export const CheckInput = ({ label, name, value = 'yes', isChecked }: CheckInputProps) => (
  <label className="check">
    <input type="checkbox" name={name} value={value} defaultChecked={isChecked} /> {label}
  </label>
)

interface TextInputProps {
  label: string
  name: string
  value: string
  hint?: string
  rows?: number
}

/** A field for a text of several lines. */
export function TextInput({ label, name, value, hint, rows = 4 }: TextInputProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        defaultValue={value}
        rows={rows}
        dir="auto"
        aria-describedby={hint && `${id}-hint`}
      />
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
