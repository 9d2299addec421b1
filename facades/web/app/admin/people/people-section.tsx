import { PeopleList } from './people-list.tsx'
import { PersonPage } from './person-page.tsx'

export const PeopleSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <PeopleList /> : <PersonPage id={id} />
