import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useDeferredValue, useState } from 'react'
import { api } from './api/client.ts'
import { t } from './text/labels.ts'
import { ErrorMessage } from './ui/error-message.tsx'
import type { ControlProps } from './ui/field.tsx'
import { Input } from './ui/input.tsx'

/** Somebody to invite or to share with. */
export type FoundPerson = Awaited<ReturnType<typeof api.users.findPeople.mutate>>['meta']['people'][number]

export async function findPeople(query: string): Promise<FoundPerson[]> {
  const { meta } = await api.users.findPeople.mutate({ query })
  return meta.people
}

/** The shortest query that the service accepts. */
const MIN_CHARACTERS = 3

interface PeopleSearchProps {
  control: ControlProps
  /** Returns false for a person who is not offered. */
  isOffered?: (person: FoundPerson) => boolean
  /** Shows at least one person. `clear` ends the search. */
  children: (people: readonly FoundPerson[], clear: () => void) => ReactNode
}

/** Finds people by a part of their name, while it is written. */
export function PeopleSearch({ control, isOffered = () => true, children }: PeopleSearchProps) {
  const [text, setText] = useState('')
  const query = useDeferredValue(text.trim())
  const { data, error } = useQuery({
    queryKey: ['people', query],
    enabled: query.length >= MIN_CHARACTERS,
    queryFn: () => findPeople(query),
  })
  const people = data?.filter(isOffered)
  return (
    <>
      <Input
        {...control}
        type="search"
        value={text}
        maxLength={254}
        autoComplete="off"
        placeholder={t('app.rooms.findPeopleHint')}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      />
      <ErrorMessage error={error} />
      {people?.length === 0 && <p className="hint">{t('app.rooms.nobody')}</p>}
      {people && people.length > 0 && children(people, () => setText(''))}
    </>
  )
}
