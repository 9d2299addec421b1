import { useNavigate, useSearch } from '@tanstack/react-router'

export type Filters = Readonly<Record<string, string>>

/** Keeps the filters of a list in the address. A changed filter returns to the first page. */
export function useFilters() {
  const search: Record<string, unknown> = useSearch({ strict: false })
  const navigate = useNavigate()
  const filters: Filters = Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))
  const setFilters = (changes: Filters) => {
    const { page: _, ...others } = filters
    const entries = Object.entries({ ...others, ...changes }).filter(([, value]) => value !== '')
    const search = Object.fromEntries(entries.map(([name, value]) => [name, toSearchValue(value)]))
    void navigate({ to: '.', search, replace: true })
  }
  return { filters, setFilters }
}

/** The router would quote a string that looks like a number. */
export const toSearchValue = (value: string) => (String(Number(value)) === value ? Number(value) : value)

/** Returns the value if it is one of the choices. */
export const findChoice = <Value extends string>(
  values: readonly Value[],
  choice: string | undefined,
): Value | undefined => values.find((value) => value === choice)
