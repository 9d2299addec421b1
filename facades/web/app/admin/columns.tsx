import { inputs } from 'virtual:admin-inputs'
import type { ReactNode } from 'react'
import type { MemberKind } from '../../admin-inputs.ts'
import { t } from '../shared/text/labels.ts'
import { describeValue, getMemberLabel } from './member-texts.ts'
import { StateBadge, type StateKind } from './parts.tsx'
import type { Column } from './record-table.tsx'

interface ColumnOptions<Row> extends Partial<Omit<Column<Row>, 'key'>> {
  /** The kind of the values, if the member is only read. */
  kind?: MemberKind
  /** The text of a cell without a value. */
  empty?: string
}

/** Returns a function that makes a column of a member; label and kind are those of the input with the same member. */
export function columnsOf<Row extends object>(path: string) {
  const area = path.replace(/\..*/, '')
  return <Name extends keyof Row & string>(
    name: Name,
    { kind = inputs[path]?.[name]?.kind ?? 'text', empty = '', ...options }: ColumnOptions<Row> = {},
  ): Column<Row> => ({
    key: name,
    label: getMemberLabel(name, area),
    cell: (row) => describeValue(name, kind, row[name], area) || empty,
    text: (row) => toCsvValue(row[name]),
    isNumber: kind === 'number',
    isShort: shortKinds.has(kind),
    ...options,
  })
}

/** The kinds whose values keep to one line. */
const shortKinds = new Set<MemberKind>(['choice', 'time'])

/** Returns a value for the CSV file, which sorts as well. */
function toCsvValue(value: unknown): string | number | null {
  if (typeof value === 'number' || value === null || value === undefined) return value ?? null
  return Array.isArray(value) ? value.join(', ') : String(value)
}

interface States<Row, State extends string> {
  /** Returns the state of a row. */
  find: (row: Row) => State
  kinds: Readonly<Record<State, StateKind>>
  describe: (state: State) => string
}

/** Makes a column with the state of a row. */
export const stateColumn = <Row, State extends string>(
  { find, kinds, describe }: States<Row, State>,
  options: Partial<Column<Row>> = {},
): Column<Row> => ({
  key: 'state',
  label: t('app.admin.state'),
  cell: (row) => <StateBadge kind={kinds[find(row)]}>{describe(find(row))}</StateBadge>,
  text: find,
  ...options,
})

/** Makes a column with the buttons of a row. */
export const actionColumn = <Row,>(cell: (row: Row) => ReactNode): Column<Row> => ({
  key: 'actions',
  label: t('app.admin.actions'),
  isShort: true,
  cell,
})
