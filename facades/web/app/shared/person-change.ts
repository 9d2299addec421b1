/** The person whose keys the tabs of this browser may use; null after signing out and after locking the keys. */
type PersonId = number | null

/** Connects the tabs of this browser. The page for signing out posts to it as well. */
const channel = new BroadcastChannel('svc:session')

/** Announces the current person to the other tabs. */
export const announcePerson = (person: PersonId): void => channel.postMessage({ person })

/** Calls back when another tab announces a different person. Returns a function that stops listening. */
export function onOtherPerson(person: number | undefined, act: () => void): () => void {
  const listen = ({ data }: MessageEvent<{ person: PersonId }>) => {
    if (data.person !== person) act()
  }
  channel.addEventListener('message', listen)
  return () => channel.removeEventListener('message', listen)
}
