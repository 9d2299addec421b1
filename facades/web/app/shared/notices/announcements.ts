import { useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../api/client.ts'

/** Returns the announcements that the person has not accepted yet. */
export const usePendingAnnouncements = () =>
  useQuery({
    queryKey: ['announcements'],
    queryFn: ({ signal }) => api.announcements.pending.query(undefined, { signal }),
  }).data ?? []

export const useAnnouncementText = (id: string | undefined) =>
  useQuery({
    queryKey: ['announcement', id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => api.announcements.read.query({ id: id ?? '' }, { signal }),
  })

export async function acceptAnnouncement(id: string, version: string): Promise<void> {
  await api.announcements.accept.mutate({ id, version })
  await queryClient.invalidateQueries({ queryKey: ['announcements'] })
}
