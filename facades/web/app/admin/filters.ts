import { useNavigate, useSearch } from '@tanstack/react-router'

type Filters = Readonly<Record<string, string>>

/** The filters of a list stand in the address; another choice begins at the first page. */
export function useFilters() {
  const search: Record<string, unknown> = useSearch({ strict: false })
  const navigate = useNavigate()
  const filters: Filters = Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]))
  const setFilters = (changes: Filters) => {
    const { page: _, ...kept } = filters
    const entries = Object.entries({ ...kept, ...changes }).filter(([, value]) => value !== '')
    const search = Object.fromEntries(entries.map(([name, value]) => [name, toNumber(value)]))
    void navigate({ to: '.', search: search as never, replace: true })
  }
  return { filters, setFilters }
}

/** A text that looks like a number would stand in quotes in the address. */
const toNumber = (value: string) => (String(Number(value)) === value ? Number(value) : value)

/** A choice that is one of those that there are, or none. */
export const findChoice = <Value extends string>(
  values: readonly Value[],
  chosen: string | undefined,
): Value | undefined => values.find((value) => value === chosen)
