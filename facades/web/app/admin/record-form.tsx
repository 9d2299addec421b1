import { inputs } from 'virtual:admin-inputs'
import { type ComponentProps, type ReactNode, useId } from 'react'
import type { Client } from '../../../client/index.ts'
import type { Member, MemberKind } from '../../admin-inputs.ts'
import { t } from '../shared/text/labels.ts'
import { ChoiceGroup } from '../shared/ui/choice.tsx'
import { Field } from '../shared/ui/field.tsx'
import { ActionButton, type VersionCondition } from './action-button.tsx'
import { FileOwned } from './catalogue/config-file.tsx'
import { CheckInput, ChoiceInput, TextInput, TextWithPreview } from './form-fields.tsx'
import { describeMember, describeValue, getChoiceLabel, getMemberLabel } from './member-texts.ts'
import { formatMember, readMembers, SHOWN } from './member-values.ts'
import styles from './record-form.module.css'

/** The input of a change by its path, such as `aiModels.update`. */
type InputOf<Path extends string> = Path extends `${infer Area extends keyof Client & string}.${infer Verb}`
  ? Client[Area] extends Record<Verb, { mutate: (input: infer Input, ...rest: never[]) => unknown }>
    ? Input
    : never
  : never

type MemberName<Path extends string> = keyof InputOf<Path> & string

/** The fields for members of an input, and how they are read. */
export interface Form<Change> {
  /** The area of the procedure, such as `aiModels`. */
  area: string
  members: readonly (readonly [name: string, Member])[]
  /** Reads the change; the record has the values that the fields began with. */
  read(form: FormData, record?: object): Change
}

function createForm<Change>(path: string, names: readonly string[]): Form<Change> {
  const declared = inputs[path] ?? {}
  const members = names.flatMap((name) => {
    const member = declared[name]
    return member ? [[name, member] as const] : []
  })
  return {
    area: path.replace(/\..*/, ''),
    members,
    // The members have the types that they are declared with, and the service validates them.
    read: (form, record) => readMembers(form, members, { ...record }) as Change,
  }
}

/** Declares a form with some members of an input. */
export const defineForm = <Path extends string, const Name extends MemberName<Path>>(
  path: Path,
  names: readonly Name[],
): Form<Pick<InputOf<Path>, Name>> => createForm(path, names)

/** Declares a form with all members of an input but those that are entered elsewhere; some of them come first. */
export function defineWholeForm<Path extends string>(
  path: Path,
  { first = [], elsewhere = [] }: WholeFormOptions<MemberName<Path>> = {},
): Form<Omit<InputOf<Path>, 'id' | 'ifVersion'>> {
  const named: readonly string[] = [...first, ...elsewhere, 'id', 'ifVersion']
  return createForm(path, [...first, ...Object.keys(inputs[path] ?? {}).filter((name) => !named.includes(name))])
}

interface WholeFormOptions<Name> {
  first?: readonly Name[]
  elsewhere?: readonly Name[]
}

type Choices = readonly (readonly [value: string, text: string])[]

type FormMembers = Pick<Form<unknown>, 'area' | 'members'>

interface FormFieldsProps {
  form: FormMembers
  /** The values that the fields begin with; otherwise they begin with the defaults. */
  record?: object | undefined
  /** The choices of members that name other records. */
  choices?: Readonly<Record<string, Choices>>
  /** Well-known values of members that take other texts, too. */
  suggestions?: Readonly<Record<string, Choices>> | undefined
}

/** The fields of a form. */
export const FormFields = ({ form: { area, members }, record, choices = {}, suggestions = {} }: FormFieldsProps) => (
  <div className={styles.fields}>
    {members.map(([name, member]) => (
      <MemberField
        key={name}
        area={area}
        name={name}
        member={member}
        value={record ? getValue(record, name) : member.default}
        choices={choices[name]}
        suggestions={suggestions[name]}
        isUpdate={record !== undefined}
      />
    ))}
  </div>
)

const getValue = (record: unknown, name: string): unknown => Reflect.get(Object(record), name)

interface MemberFieldProps {
  area: string
  name: string
  member: Member
  value: unknown
  choices?: Choices | undefined
  suggestions?: Choices | undefined
  isUpdate: boolean
}

/** The kinds whose fields take half of the width. */
const narrowKinds: readonly MemberKind[] = ['text', 'number', 'choice', 'time', 'secret']

/** A field for a member, disabled where a file sets it. */
function MemberField(props: MemberFieldProps) {
  const { area, name, member, choices = listChoices(props) } = props
  const { isDeclared } = describeMember(area, name, member)
  const kind = props.choices ? findChoiceKind(member) : member.kind
  const Input = elements[kind]
  return (
    <div className={narrowKinds.includes(kind) ? undefined : styles.wide} {...(isDeclared && { lang: 'en' })}>
      <FileOwned attribute={name}>
        <input type="hidden" name={SHOWN} value={name} />
        <Input {...props} choices={choices} />
      </FileOwned>
    </div>
  )
}

/** Returns the kind of a member whose values are ids of records. */
const findChoiceKind = ({ kind }: Member): MemberKind => (kind === 'words' ? 'choices' : 'choice')

/** Lists the choices of a member; an empty one stands for null. */
const listChoices = ({ area, name, member: { kind, choices = [], isNullable } }: MemberFieldProps): Choices => [
  ...(kind === 'choice' && isNullable ? [['', getChoiceLabel(name, 'none', area)] as const] : []),
  ...choices.map((choice) => [choice, getChoiceLabel(name, choice, area)] as const),
]

type InputProps = MemberFieldProps & { choices: Choices }

const getFieldProps = ({ area, name, member, value, isUpdate }: MemberFieldProps) => {
  const { label, hint } = describeMember(area, name, member)
  const { kind, isNullable, isRequired, minLength = 0 } = member
  // A text that there is cannot be taken away.
  const isKept = isUpdate && !isNullable && minLength > 0 && value !== undefined
  return {
    label,
    hint: kind === 'secret' && isUpdate ? [hint, t('app.admin.secretKept')].join(' ') : hint,
    name,
    defaultValue: formatMember(kind, value),
    required: isRequired === true || isKept,
    maxLength: member.maxLength,
  }
}

function LineInput(props: InputProps) {
  const { suggestions } = props
  const list = useId()
  const field = getFieldProps(props)
  if (!suggestions) return <Field {...field} autoComplete="off" />
  return (
    <>
      <Field {...field} list={list} autoComplete="off" />
      <datalist id={list}>
        {suggestions.map(([value, text]) => (
          <option key={value} value={value} label={text} />
        ))}
      </datalist>
    </>
  )
}

const NumberInput = (props: InputProps) => {
  const { maxLength: _, ...field } = getFieldProps(props)
  const { min, max, isWhole } = props.member
  return <Field {...field} type="number" min={min} max={max} step={isWhole ? 1 : 'any'} />
}

const AreaInput = (props: InputProps) => {
  const { label, hint, name, defaultValue } = getFieldProps(props)
  return <TextInput label={label} name={name} value={defaultValue} {...(hint && { hint })} />
}

const elements: Record<MemberKind, (props: InputProps) => ReactNode> = {
  text: LineInput,
  words: LineInput,
  'long text': AreaInput,
  lines: AreaInput,
  json: AreaInput,
  address: (props) => <Field {...getFieldProps(props)} type="url" />,
  secret: (props) => <Field {...getFieldProps(props)} type="password" autoComplete="off" />,
  time: (props) => <Field {...getFieldProps(props)} type="datetime-local" />,
  number: NumberInput,
  numbers: ({ member: { members = {} }, name, value, ...props }) => (
    <div className={styles.fields}>
      {Object.entries(members).map(([each, member]) => (
        <NumberInput key={each} {...props} name={`${name}.${each}`} member={member} value={getValue(value, each)} />
      ))}
    </div>
  ),
  texts: ({ member: { choices = [] }, name, value, ...props }) =>
    choices.map((language) => {
      const field = { ...props, name: `${name}.${language}`, value: getValue(value, language), member: textMember }
      const { label, hint, defaultValue } = getFieldProps(field)
      return (
        <TextWithPreview key={language} label={label} name={field.name} value={defaultValue} {...(hint && { hint })} />
      )
    }),
  truth: (props) => {
    const { label, name, hint } = getFieldProps(props)
    return (
      <>
        <CheckInput label={label} name={name} isChecked={props.value === true} />
        <Hint text={hint} />
      </>
    )
  },
  choice: (props) => {
    const { label, hint, name, defaultValue } = getFieldProps(props)
    return <ChoiceInput label={label} name={name} value={defaultValue} choices={props.choices} hint={hint} />
  },
  choices: (props) => {
    const { label, hint, name } = getFieldProps(props)
    return (
      <ChoiceGroup label={label}>
        {props.choices.map(([value, text]) => (
          <CheckInput key={value} label={text} name={name} value={value} isChecked={includes(props.value, value)} />
        ))}
        <Hint text={hint} />
      </ChoiceGroup>
    )
  },
}

/** A text in one language. */
const textMember: Member = { kind: 'long text' }

const Hint = ({ text }: { text: string | undefined }) => text && <p className="hint">{text}</p>

const includes = (list: unknown, value: string) => Array.isArray(list) && list.includes(value)

interface FormButtonProps<Change> extends Omit<ComponentProps<typeof ActionButton>, 'act' | 'action'> {
  form: Form<Change>
  choices?: Readonly<Record<string, Choices>> | undefined
  suggestions?: FormFieldsProps['suggestions']
  action?: string
  /** Makes the change, on the condition that the record is still the one that the fields began with. */
  save: (change: Change, condition: VersionCondition, form: FormData) => Promise<unknown>
}

/** The most fields that a dialog shows in one column. */
const MANY_FIELDS = 3

/** A button that opens a form. */
export const FormButton = <Change,>({
  form,
  choices,
  suggestions,
  action = t('app.save'),
  save,
  children,
  ...button
}: FormButtonProps<Change>) => (
  <ActionButton
    width={form.members.length > MANY_FIELDS ? 'wide' : 'normal'}
    {...button}
    action={action}
    act={(data, condition) => save(form.read(data, button.record), condition, data)}
  >
    <FormFields form={form} record={button.record} choices={choices ?? {}} suggestions={suggestions} />
    {children}
  </ActionButton>
)

/** Kinds whose values are no facts in a line. */
const hiddenKinds: readonly MemberKind[] = ['json', 'secret', 'long text']

/** Lists the labels and values of the members of a form, with a text for those that have none. */
export const listFacts = (
  { area, members }: FormMembers,
  record: object,
  emptyTexts: Readonly<Record<string, string>> = {},
  except: readonly string[] = [],
): [label: string, value: string][] =>
  members
    .filter(([name, { kind }]) => !except.includes(name) && !hiddenKinds.includes(kind))
    .flatMap(([name, member]) => listValues(name, member, getValue(record, name)))
    .map(([name, { kind }, value]) => [
      getMemberLabel(name, area),
      describeValue(name, kind, value, area) || (emptyTexts[name] ?? ''),
    ])

/** Lists a value with its member, or those in it. */
const listValues = (name: string, member: Member, value: unknown): [name: string, member: Member, value: unknown][] =>
  member.kind === 'numbers'
    ? Object.entries(member.members ?? {}).map(([each, inner]) => [`${name}.${each}`, inner, getValue(value, each)])
    : [[name, member, value]]
