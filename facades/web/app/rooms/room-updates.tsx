import { useLiveRooms } from './live-rooms.ts'
import { useRooms } from './rooms.ts'

/** Keeps the list of rooms up to date on every page, also while the sidebar is closed. */
export function RoomUpdates() {
  useLiveRooms(useRooms().data)
  return null
}
