import { t } from '../../shared/text/labels.ts'
import { Field, LabelledField } from '../../shared/ui/field.tsx'
import { FormDialog } from '../../shared/ui/form-dialog.tsx'
import { Select } from '../../shared/ui/input.tsx'
import { listVariables } from './prompt-text.ts'
import type { PromptContent } from './prompts.ts'

interface PromptFormProps {
  prompt: PromptContent
  insert: (values: ReadonlyMap<string, string>) => void
  close: () => void
}

/** Asks for the values of a prompt's variables. */
export const PromptForm = ({ prompt, insert, close }: PromptFormProps) => (
  <FormDialog
    title={prompt.name}
    action={t('app.prompts.insert')}
    close={close}
    save={async (form) => {
      const values = [...form].flatMap(([name, value]): [string, string][] =>
        typeof value === 'string' ? [[name, value]] : [],
      )
      insert(new Map(values))
    }}
  >
    {listVariables(prompt.text).map(({ name, choices }) =>
      choices.length === 0 ? (
        <Field key={name} label={name} name={name} required={true} maxLength={2000} />
      ) : (
        <LabelledField key={name} label={name}>
          {(control) => (
            <Select {...control} name={name}>
              {choices.map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </Select>
          )}
        </LabelledField>
      ),
    )}
  </FormDialog>
)
